import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { commandLine } from '../../support/command-line.ts';
import { needs } from '../../support/needs.ts';

const HEADER = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\n';

/** A document whose host name depends on a variable of its machine, with images and sinks. */
const DOCUMENT = `${HEADER}metadata: {name: node-1}
variables: {rack: {env: RACK_OF_THIS_TEST}}
host: {hostname: "node-\${rack}"}
kubernetes:
  version: v1.35.2
  role: InitControlPlane
  cluster: {controlPlaneEndpoint: "api.example:6443"}
`;

describe('what a command prints', () => {
  let directory = '';
  let document = '';
  let host = '';
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'machineadm-formats-'));
    document = join(directory, 'document.yaml');
    writeFileSync(document, DOCUMENT, { mode: 0o600 });
    host = join(directory, 'host.yaml');
    writeFileSync(host, `${HEADER}metadata: {name: node-2}\n`, { mode: 0o600 });
  });
  after(() => rmSync(directory, { recursive: true }));

  test('is the same as JSON and as YAML, in one envelope', async () => {
    const [json, yaml] = [await commandLine('version', '-o', 'json'), await commandLine('version', '-o', 'yaml')];
    assert.deepEqual(parse(yaml.stdout), JSON.parse(json.stdout));
    const { apiVersion, kind } = JSON.parse(json.stdout);
    assert.deepEqual([apiVersion, kind], ['machineadm.dev/v1', 'Version']);
  });

  for (const [words, printed] of [
    ['version -o name', /^version\n$/],
    ['version -o jsonpath={.kind}', /^Version$/],
    ['version --output=jsonpath={.documentVersions[0]}', /^machineadm\.dev\/v1alpha1$/],
    ['images list -f DOCUMENT -o name', /^(?:image\/\S+\n){6,}$/],
    ['config show -f HOST -o name', /^machinebootstrap\/node-2\n$/],
    ['config show -f HOST -o jsonpath={.metadata.name}', /^node-2$/],
  ] as const) {
    test(`by "${words}" matches ${printed.source}`, async () => {
      const args = words.split(' ').map((word) => ({ DOCUMENT: document, HOST: host })[word] ?? word);
      const { status, stdout, stderr } = await commandLine(...args);
      assert.equal(status, 0, stderr);
      assert.match(stdout, printed);
    });
  }

  test('of render kubeadm as data has the command, the documents and what is not known here', async () => {
    const { status, stdout } = await commandLine('render', 'kubeadm', '-f', document, '-o', 'json');
    assert.equal(status, 0);
    const { kind, command, documents, unresolved } = JSON.parse(stdout);
    assert.deepEqual([kind, command, unresolved], ['KubeadmConfiguration', 'init', ['host.hostname']]);
    assert.ok(documents.some((one: { kind: string }) => one.kind === 'ClusterConfiguration'));
  });

  test('of render kubeadm as text begins with the command, then names what is not known here', async () => {
    const lines = (await commandLine('render', 'kubeadm', '-f', document)).stdout.split('\n');
    // kubeadm refuses a document that has comments only: they are in the first one.
    assert.equal(lines[0], '---');
    assert.match(lines[1] ?? '', /^# kubeadm init --config FILE/);
    assert.match(lines[2] ?? '', /^# Not as the machine will have it/);
    assert.equal(lines[3], '#   host.hostname');
    assert.match(lines[4] ?? '', /^apiVersion: /);
  });

  for (const [format, isData] of [
    ['text', false],
    ['json', true],
    ['yaml', true],
  ] as const) {
    test(`of an error as ${format} tells people on standard error${isData ? ', and programs on standard output' : ''}`, async () => {
      const { status, stdout, stderr } = await commandLine('render', 'kubeadm', '-f', host, '-o', format);
      assert.equal(status, 3);
      assert.match(stderr, /^machineadm: the document has no "kubernetes" section \[NotExpressible\]\n/);
      assert.match(stderr, /only prepares a host/);
      assert.equal(isData ? parse(stdout).error.reason : stdout, isData ? 'NotExpressible' : '');
    });
  }
});

describe('report test', { skip: needs('root') }, () => {
  test('sends an event to each sink of the document, and ends with 20 if one does not accept it', async () => {
    using directory = new Scratch();
    const sink = (name: string, program: string) => `{type: Exec, name: ${name}, command: [sh, -c, '${program}']}`;
    const write = (...sinks: readonly string[]) =>
      writeFileSync(directory.file, `${HEADER}metadata: {name: n}\nreporting: {sinks: [${sinks.join(', ')}]}\n`, {
        mode: 0o600,
      });
    write(sink('good', 'cat >/dev/null'), sink('bad', 'cat >/dev/null; echo broken >&2; exit 1'));
    const mixed = await commandLine('report', 'test', '-f', directory.file, '-o', 'json');
    assert.equal(mixed.status, 20, mixed.stderr);
    const found = JSON.parse(mixed.stdout).sinks;
    assert.deepEqual(
      found.map(({ sink, type, target, result, message }: Record<string, string>) => [
        sink,
        type,
        target,
        result,
        message,
      ]),
      [
        ['good', 'Exec', 'sh', 'Taken', undefined],
        ['bad', 'Exec', 'sh', 'Refused', 'status 1: broken'],
      ],
    );
    write(sink('good', 'cat >/dev/null'));
    const one = await commandLine('report', 'test', '-f', directory.file);
    assert.equal(one.status, 0, one.stderr);
    const [head = '', row = '', end] = one.stdout.split('\n');
    assert.match(head, /^SINK {2}RESULT {2}TOOK +TARGET$/);
    assert.match(row, /^good {2}Taken {3}.+ sh$/);
    assert.equal(end, '');
    write();
    const none = await commandLine('report', 'test', '-f', directory.file);
    assert.deepEqual([none.status, none.stdout], [0, 'the document has no sinks\n'], none.stderr);
  });

  test('marks the event as a test, of the machine of the document', async () => {
    using directory = new Scratch();
    const text = `${HEADER}metadata: {name: n, namespace: clusters, cluster: prod}\nreporting: {sinks: [{type: Exec, name: keep, command: [sh, -c, 'cat >${directory.path}/event']}]}\n`;
    writeFileSync(directory.file, text, { mode: 0o600 });
    const { status, stderr } = await commandLine('report', 'test', '-f', directory.file);
    assert.equal(status, 0, stderr);
    const event = JSON.parse(directory.read('event'));
    assert.deepEqual(
      [event.test, event.type, event.machine],
      [true, 'warning', { name: 'n', namespace: 'clusters', cluster: 'prod' }],
    );
    assert.match(event.message, /a test of this sink: nothing happened/);
  });
});

class Scratch implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'machineadm-report-test-'));
  readonly file = join(this.path, 'document.yaml');

  read(name: string): string {
    return readFileSync(join(this.path, name), 'utf8');
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}
