import assert from 'node:assert/strict';
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { needs } from '../support/needs.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const HASH = `sha256:${'a'.repeat(64)}`;

describe('the example for Terraform', { skip: needs('terraform in PATH') }, () => {
  const work = mkdtempSync(join(tmpdir(), 'machineadm-terraform-'));
  after(() => rmSync(work, { recursive: true }));
  cpSync(join(ROOT, 'packaging/terraform'), work, { recursive: true });
  const program = join(work, 'machineadm');
  writeFileSync(program, `#!/bin/sh\nexec ${process.execPath} ${join(ROOT, 'src/main.ts')} "$@"\n`);
  chmodSync(program, 0o755);

  function terraform(...args: readonly string[]): SpawnSyncReturns<string> {
    const env = { PATH: process.env.PATH, HOME: work, CHECKPOINT_DISABLE: '1' };
    return spawnSync('terraform', args, { cwd: work, encoding: 'utf8', env });
  }

  function apply(worker: string, hashes: readonly string[]): SpawnSyncReturns<string> {
    const variables = {
      machineadm: program,
      workers: [worker],
      kubernetes_version: 'v1.35.2',
      endpoint: '10.0.0.10:6443',
      token: 'abcdef.0123456789abcdef',
      ca_cert_hashes: hashes,
    };
    writeFileSync(join(work, 'terraform.tfvars.json'), JSON.stringify(variables));
    return terraform('apply', '-no-color', '-auto-approve', '-input=false');
  }

  test('is in the format of Terraform, and needs no provider', () => {
    const init = terraform('init', '-no-color', '-input=false');
    assert.equal(init.status, 0, init.stdout + init.stderr);
    const format = terraform('fmt', '-check', '-diff', '-no-color');
    assert.equal(format.status, 0, format.stdout + format.stderr);
  });

  test('makes user data with a document that machineadm validated', () => {
    const { status, stdout, stderr } = apply('worker-1', [HASH]);
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /valid: /);
    assert.doesNotMatch(stdout, /0123456789abcdef/);
    const userData = JSON.parse(terraform('output', '-json', 'user_data').stdout)['worker-1'];
    assert.ok(userData.startsWith('#cloud-config\n'));
    const { write_files: files, runcmd } = parse(userData);
    assert.deepEqual(runcmd, ['/usr/local/bin/machineadm provision -d /etc/machineadm/bootstrap.yaml']);
    const document = parse(gunzipSync(Buffer.from(files[0].content, 'base64')).toString());
    assert.equal(document.host.hostname, 'worker-1');
    assert.deepEqual(document.kubernetes.join.discovery.token.caCertHashes, [HASH]);
    assert.deepEqual([files[0].path, files[0].permissions], ['/etc/machineadm/bootstrap.yaml', '0600']);
  });

  test('ends with every mistake and without the token, if a document is invalid', () => {
    const { status, stdout, stderr } = apply('a: {b', ['aa']);
    assert.equal(status, 1);
    const told = stdout + stderr;
    assert.match(told, /host\.hostname: "a: \{b" is not a valid host name/);
    assert.match(told, /caCertHashes\[0\]: "aa" is not a CA hash/);
    assert.doesNotMatch(told, /0123456789abcdef/);
  });
});
