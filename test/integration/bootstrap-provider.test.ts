import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { agent, MAIN } from '../support/agent.ts';
import { MACHINE, NAMESPACE, providerObjects, shownCommands } from '../support/bootstrap-provider.ts';
import { goldenUserData } from '../support/capi.ts';

const GOLDEN = goldenUserData('02-worker-registry-mirrors', 'join-worker');

/** Knows one Machine and one Secret, as an API server that prints them; keeps what is created. */
const KUBECTL = `#!/bin/sh
case "$*" in
*"get machine ${MACHINE} -o jsonpath="*) printf '%s' '${MACHINE}' ;;
*"get machine/${MACHINE} secret/${MACHINE} -o yaml") cat objects ;;
'create -f -') cat >created; [ -s created ] || { rm created; echo 'error: no objects passed to create' >&2; exit 1; } ;;
*) echo "unexpected: $*" >&2; exit 9 ;;
esac
`;

describe('docs/bootstrap-provider.md', () => {
  let directory = '';
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'machineadm-provider-'));
    lay('kubectl', KUBECTL);
    lay('machineadm', `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  function lay(name: string, text: string): void {
    writeFileSync(join(directory, name), text);
    chmodSync(join(directory, name), 0o755);
  }

  function run(commands: string) {
    const env = { ...process.env, PATH: `${directory}:${process.env.PATH}` };
    return spawnSync('sh', ['-euc', commands], { cwd: directory, env, encoding: 'utf8' });
  }

  function layObjects(userData: string): void {
    const { machine, secret } = providerObjects(userData, 'v1.35.2');
    const identified = { ...machine, metadata: { ...machine.metadata, uid: '5f0c' } };
    lay('objects', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [identified, secret('1234')] }));
  }

  test('its commands make a second Secret of that of the provider', () => {
    layObjects(GOLDEN);
    const { status, stderr } = run(shownCommands('shell'));
    assert.equal(status, 0, stderr);
    const { metadata, type, data } = JSON.parse(readFileSync(join(directory, 'created'), 'utf8'));
    assert.deepEqual(metadata, {
      name: `${MACHINE}-machineadm`,
      namespace: NAMESPACE,
      labels: { 'cluster.x-k8s.io/cluster-name': 'prod-b' },
    });
    assert.deepEqual([type, atob(data.format)], ['cluster.x-k8s.io/secret', 'cloud-config']);
    const { write_files: files, runcmd } = parse(atob(data.value));
    assert.deepEqual(runcmd, ['/usr/local/bin/machineadm provision -d /etc/machineadm/bootstrap.yaml']);
    const document = parse(gunzipSync(Buffer.from(files[0].content, 'base64')).toString());
    assert.deepEqual(document.metadata, { name: MACHINE, namespace: NAMESPACE, uid: '5f0c', cluster: 'prod-b' });
    assert.deepEqual([document.kubernetes.version, document.kubernetes.role], ['v1.35.2', 'Worker']);
  });

  test('its commands create nothing where a decision is open', () => {
    layObjects(GOLDEN.replace('\nruncmd:', '\npower_state: {mode: reboot}\nruncmd:'));
    const { status, stderr } = run(shownCommands('shell'));
    assert.equal(status, 1, 'of kubectl: the last of a pipeline decides');
    assert.match(stderr, /Decide: --accept UserDataKey/);
    assert.match(stderr, /no objects passed to create/);
    assert.equal(existsSync(join(directory, 'created')), false);
  });

  test('its user data is what wrap writes', async () => {
    const { status, stderr } = run(shownCommands('sh'));
    assert.equal(status, 0, stderr);
    const shown = parse(readFileSync(join(directory, 'user-data'), 'utf8'));
    const wrapped = await agent(['wrap', '-d', join(directory, 'bootstrap.yaml'), '--format', 'cloud-init']);
    assert.equal(wrapped.status, 0, wrapped.stderr);
    const unpacked = ({ write_files: [file, ...others], ...rest }: UserData) => ({
      ...rest,
      write_files: [{ ...file, content: gunzipSync(Buffer.from(file.content, 'base64')).toString() }, ...others],
    });
    assert.deepEqual(unpacked(shown), unpacked(parse(wrapped.stdout)));
  });
});

interface UserData {
  readonly write_files: readonly [{ readonly content: string }];
}
