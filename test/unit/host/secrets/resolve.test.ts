import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { inspect } from 'node:util';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { Secret, type SecretSource } from '@machineadm/document/secrets/secret.ts';
import type { CommandResult } from '../../../../src/host/seam/host.ts';
import { resolveSecret } from '../../../../src/host/secrets/resolve.ts';

describe('resolving a secret', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'machineadm-secrets-'));
    await mkdir(join(directory, 'unit'));
    await mkdir(join(directory, 'system'));
  });
  after(() => rm(directory, { recursive: true }));
  const resolve = (source: SecretSource, env: Readonly<Record<string, string>> = {}) =>
    resolveSecret(
      { name: 'joinToken', source },
      { env, credentialDirectories: [join(directory, 'unit'), join(directory, 'system')] },
    );
  const unavailable = (source: SecretSource, place: RegExp, never?: string) =>
    assert.rejects(resolve(source), (error: unknown) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'SecretUnavailable');
      assert.match(error.message, /joinToken/);
      assert.match(error.message, place);
      if (never !== undefined) assert.ok(!inspect(error, { depth: 9 }).includes(never));
      return true;
    });

  test('from the document itself', async () => {
    const secret = new Secret('in-the-document');
    assert.equal(await resolve({ kind: 'value', secret }), secret);
  });

  test('from a file, without one trailing newline', async () => {
    const path = join(directory, 'token');
    for (const [content, value] of [
      ['abc', 'abc'],
      ['abc\n', 'abc'],
      ['abc\r\n', 'abc'],
      ['abc\n\n', 'abc\n'],
      [' a\nb ', ' a\nb '],
    ] as const) {
      await writeFile(path, content);
      assert.equal((await resolve({ kind: 'file', path }))?.reveal(), value);
    }
  });

  test('from the environment', async () => {
    assert.equal((await resolve({ kind: 'env', variable: 'TOKEN' }, { TOKEN: 'from env' }))?.reveal(), 'from env');
  });

  test("from a systemd credential: the unit's own comes before the system's", async () => {
    await writeFile(join(directory, 'system', 'token'), 'of the system\n');
    assert.equal((await resolve({ kind: 'systemdCredential', name: 'token' }))?.reveal(), 'of the system');
    await writeFile(join(directory, 'unit', 'token'), 'of the unit\n');
    assert.equal((await resolve({ kind: 'systemdCredential', name: 'token' }))?.reveal(), 'of the unit');
  });

  test('what is missing or empty is named with its place', async () => {
    await writeFile(join(directory, 'empty'), '\n');
    await unavailable({ kind: 'file', path: join(directory, 'nothing') }, /nothing: it does not exist/);
    await unavailable({ kind: 'file', path: join(directory, 'empty') }, /it is empty/);
    await unavailable({ kind: 'file', path: directory }, /EISDIR/);
    await unavailable({ kind: 'env', variable: 'NONESUCH' }, /environment variable NONESUCH/);
    await unavailable({ kind: 'systemdCredential', name: 'nonesuch' }, /in none of/);
  });

  test('the name of a credential cannot lead out of its directory', async () => {
    await writeFile(join(directory, 'outside'), 'must-not-be-read');
    for (const name of ['../outside', '..', '', `${directory}/outside`]) {
      await unavailable({ kind: 'systemdCredential', name }, /not a name/, 'must-not-be-read');
    }
  });

  test('bytes that are no text, and an endless file, are refused without being shown', async () => {
    const path = join(directory, 'binary');
    await writeFile(path, Buffer.concat([Buffer.from('visible-part'), Buffer.from([0xff, 0xfe])]));
    await unavailable({ kind: 'file', path }, /not UTF-8/, 'visible-part');
    await unavailable({ kind: 'file', path: '/dev/zero' }, /larger than 1 MiB/);
  });

  test('from an encrypted credential, by the name of the credential, after those that need no key', async () => {
    await mkdir(join(directory, 'encrypted'));
    for (const name of ['sealed', 'sealed2.cred', 'both'])
      await writeFile(join(directory, 'encrypted', name), 'cipher');
    await writeFile(join(directory, 'unit', 'both'), 'plain');
    const asked: string[] = [];
    const from = (name: string, result: Partial<CommandResult> | undefined) =>
      resolveSecret(
        { name: 'joinToken', source: { kind: 'systemdCredential', name } },
        {
          env: {},
          credentialDirectories: [join(directory, 'unit')],
          encryptedDirectories: [join(directory, 'nowhere'), join(directory, 'encrypted')],
          decrypt: async (...words) => {
            asked.push(words.join(' '));
            return result && { status: 0, stdout: '', stderr: '', timedOut: false, ...result };
          },
        },
      );
    assert.equal((await from('sealed', { stdout: 'opened\n' }))?.reveal(), 'opened');
    assert.equal((await from('sealed2', { stdout: 'opened' }))?.reveal(), 'opened');
    assert.equal((await from('both', { stdout: 'opened' }))?.reveal(), 'plain');
    const encrypted = join(directory, 'encrypted');
    assert.deepEqual(asked, [`sealed ${encrypted}/sealed`, `sealed2 ${encrypted}/sealed2.cred`]);
    await assert.rejects(from('sealed', undefined), /it is encrypted and systemd-creds is missing/);
    await assert.rejects(
      from('sealed', { status: 1, stderr: 'first\nno key\n' }),
      /systemd-creds cannot decrypt it: no key/,
    );
    await assert.rejects(
      from('none', {}),
      new RegExp(`it is in none of ${directory}/unit, ${directory}/nowhere, ${encrypted}`),
    );
  });
});
