import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { openQueryHost } from '../../../src/host/index.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';

function encrypt(name: string, value: string): string {
  const args = ['encrypt', '--with-key=host', `--name=${name}`, '-', '-'];
  const done = spawnSync('systemd-creds', args, { input: value, encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
  return done.stdout;
}

inThrowAwayMachine(import.meta.filename, () => {
  const credential = (name: string) =>
    openQueryHost().secret({ name: 'secrets.token', source: { kind: 'systemdCredential', name } });

  test('encrypted credentials of the store are decrypted, and only under their own name', {
    skip: needs('systemd-creds'),
  }, async () => {
    // A machine has an id; the image that this test runs in may have none.
    writeFileSync('/etc/machine-id', '0123456789abcdef0123456789abcdef\n');
    mkdirSync('/etc/credstore.encrypted', { recursive: true, mode: 0o700 });
    const sealed = encrypt('token', 'of the store\n');
    writeFileSync('/etc/credstore.encrypted/token', sealed);
    writeFileSync('/etc/credstore.encrypted/renamed.cred', sealed);
    assert.equal((await credential('token'))?.reveal(), 'of the store');

    const before = readFileSync('/etc/credstore.encrypted/token', 'utf8');
    await assert.rejects(credential('renamed'), {
      reason: 'SecretUnavailable',
      message: /systemd-creds cannot decrypt it/,
    });
    assert.equal(readFileSync('/etc/credstore.encrypted/token', 'utf8'), before);

    mkdirSync('/run/credstore', { recursive: true });
    writeFileSync('/run/credstore/token', 'in the clear');
    assert.equal((await credential('token'))?.reveal(), 'in the clear', 'a decrypted one comes first');
  });
});
