import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { dataSecret, EXAMPLES, withRelatedObjects } from '../../../support/capi.ts';
import { commandLine } from '../../../support/command-line.ts';

const FIXTURES = join(import.meta.dirname, '../../../fixtures/capi');

describe('machineadm convert', () => {
  let directory = '';
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'machineadm-convert-'));
  });
  after(() => rmSync(directory, { recursive: true }));

  const lay = (name: string, text: string): string => {
    const path = join(directory, name);
    writeFileSync(path, text);
    return path;
  };
  const convert = (...args: readonly string[]) => commandLine('convert', ...args);

  test('reads a data Secret, and writes a document that validates', async () => {
    const { status, stdout, stderr } = await convert('-f', lay('secret.yaml', dataSecret()));
    assert.equal(status, 0, stderr);
    assert.match(stderr, /^warning HookContinues: /m);
    assert.ok(!/PRIVATE KEY|REPLACE-WITH/.test(stderr), 'no secret in the report');
    const path = lay('document.yaml', stdout);
    const validated = await commandLine('validate', '-d', path);
    assert.equal(validated.status, 0, validated.stdout);
    assert.match(stdout, /^ {2}name: prod-a-0\n {2}namespace: clusters\n {2}cluster: prod-a$/m);
  });

  test('writes nothing while a decision is open, says which, and writes 0600 once it is accepted', async () => {
    const example = EXAMPLES[2];
    const sources = withRelatedObjects(example).flatMap(({ name, text }) => ['-f', lay(name, text)]);
    const to = join(directory, 'documents');
    const open = await convert(...sources, '--output-dir', to);
    assert.deepEqual([open.status, open.stdout], [3, '']);
    assert.match(open.stderr, /nothing was written\nDecide: --accept DeviceAlias$/m);
    assert.throws(() => readdirSync(to), { code: 'ENOENT' });
    const accepted = await convert(...sources, '--output-dir', to, '--accept', 'DeviceAlias');
    assert.equal(accepted.status, 0, accepted.stderr);
    assert.deepEqual(readdirSync(to), ['clusters']);
    const namespace = join(to, 'clusters');
    const names = readdirSync(namespace).sort();
    assert.deepEqual(names, ['prod-c-control-plane.init.yaml', 'prod-c-control-plane.join-control-plane.yaml']);
    for (const name of names) assert.equal(statSync(join(namespace, name)).mode & 0o777, 0o600);
    const again = names.map((name) => readFileSync(join(namespace, name), 'utf8'));
    const repeated = await convert(...sources, '--output-dir', to, '--accept', 'all');
    assert.equal(repeated.status, 4, repeated.stderr);
    assert.match(repeated.stderr, /init\.yaml exists already/);
    const forced = await convert(...sources, '--output-dir', to, '--accept', 'all', '--force');
    assert.equal(forced.status, 0, forced.stderr);
    assert.deepEqual(
      names.map((name) => readFileSync(join(namespace, name), 'utf8')),
      again,
      'the same input, the same bytes',
    );
  });

  test('treats warnings as errors with --strict', async () => {
    const golden = join(FIXTURES, 'golden/02-worker-registry-mirrors.join-worker.user-data');
    const args = ['-f', golden, '--kubernetes-version', 'v1.35.2'];
    assert.equal((await convert(...args)).status, 0);
    const { status, stdout, stderr } = await convert(...args, '--strict');
    assert.deepEqual([status, stdout], [3, '']);
    assert.match(stderr, /--strict takes warnings for errors: .*HookContinues/);
  });

  test('prints each decision as a line of JSON', async () => {
    const { stderr } = await convert('-f', join(FIXTURES, '05-worker-windows.yaml'), '--report', 'json');
    const lines = stderr
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line));
    const [first] = lines;
    assert.deepEqual(Object.keys(first).sort(), ['at', 'code', 'meaning', 'message', 'severity']);
    assert.ok(lines.some(({ code, severity }) => code === 'VersionMissing' && severity === 'error'));
  });

  for (const [what, args, message] of [
    ['a code that is none', ['-f', 'x', '--accept', 'Everything'], /"Everything" is not the code of a decision/],
    ['a code that needs no decision', ['-f', 'x', '--accept', 'HookContinues'], /is not the code of a decision/],
    ['no input', [], /no input given/],
  ] as const) {
    test(`refuses ${what} as a usage error`, async () => {
      const { status, stdout, stderr } = await convert(...args);
      assert.deepEqual([status, stdout], [2, ''], stderr);
      assert.match(stderr, message);
    });
  }

  test('--from-node: a root that is none, and one without a node', async () => {
    const missing = await convert('--from-node', join(directory, 'nowhere'));
    assert.deepEqual([missing.status, missing.stdout], [2, ''], missing.stderr);
    assert.match(missing.stderr, /--from-node: .*nowhere is not a directory \[UsageInvalid\]/);
    const empty = await convert('--from-node', directory);
    assert.deepEqual([empty.status, empty.stdout], [3, ''], empty.stderr);
    assert.match(empty.stderr, /InputUnknown.*\n.*kubelet\.conf does not exist: no node that kubeadm has made/);
  });

  test('reports an input that cannot be read', async () => {
    const { status, stderr } = await convert('-f', join(directory, 'nowhere.yaml'));
    assert.equal(status, 3);
    assert.match(stderr, /does not exist/);
  });
});
