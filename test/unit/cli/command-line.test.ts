import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { EXIT_CODES } from '@machineadm/document/outcomes/exit-codes.ts';
import type { Command } from 'commander';
import { parseAllDocuments } from 'yaml';
import { createProgram } from '../../../src/commands/index.ts';
import { commandLine } from '../../support/command-line.ts';
import type { Told } from '../../support/told.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
/** What every colour begins with. */
const ESCAPE = '\u001b';

/** Every command and sub-command, as its words. */
function commands(command: Command = createProgram(() => {}), path: readonly string[] = []): (readonly string[])[] {
  return [path, ...command.commands.flatMap((child) => commands(child, [...path, child.name()]))];
}

describe('the command line', () => {
  let directory = '';
  let document = '';

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'machineadm-command-line-'));
    document = join(directory, 'document.yaml');
    writeFileSync(document, (await commandLine('example', '--role', 'InitControlPlane')).stdout);
  });
  after(() => rmSync(directory, { recursive: true }));

  const run = (args: string): Promise<Told> =>
    commandLine(...args.split(' ').map((word) => (word === 'DOCUMENT' ? document : word)));

  describe('--help', () => {
    for (const path of commands()) {
      test(`of machineadm ${path.join(' ')} says what it does and shows an example that it accepts`, async () => {
        const { status, stdout, stderr } = await commandLine(...path, '--help');
        assert.deepEqual([status, stderr], [0, '']);
        const [usage, , description = ''] = stdout.split('\n');
        assert.match(usage ?? '', new RegExp(`^Usage: ${['machineadm', ...path].join(' ')} `));
        assert.match(description, /^\S.{10,}/);
        const examples = [...stdout.matchAll(/^ {2}(machineadm .*?)(?: {2,}\S.*| >.*)?$/gm)].map(([, line]) => line);
        assert.ok(examples.length > 0, 'has an example');
        for (const line of examples) {
          const words = (line ?? '').split(' ').slice(1);
          assert.deepEqual(words.slice(0, path.length), path);
          const help = await commandLine(...words, '--help');
          assert.deepEqual([help.status, help.stderr], [0, ''], line);
        }
        assert.ok(!stdout.includes(ESCAPE));
        for (const line of stdout.split('\n')) assert.ok(line.length <= 140, line);
      });
    }
  });

  test('the help of the program ends with the exit codes and the documentation', async () => {
    const { stdout } = await commandLine('--help');
    for (const { code, meaning } of Object.values(EXIT_CODES)) assert.ok(stdout.includes(` ${code}  ${meaning}\n`));
    assert.match(stdout, /https:\/\/\S+\n$/);
  });

  describe('options before the command', () => {
    for (const [given, usual] of [
      ['-f DOCUMENT validate', 'validate -f DOCUMENT'],
      ['--filename DOCUMENT -o json validate', 'validate -f DOCUMENT -o json'],
      ['-o json config show DOCUMENT', 'config show DOCUMENT -o json'],
      ['-q validate -- DOCUMENT', 'validate -q -- DOCUMENT'],
      ['-o json validate', 'validate -o json'],
      ['-o json', 'validate -o json'],
    ] as const) {
      test(given, async () => {
        const [before, after] = [await run(given), await run(usual)];
        if (given === '-o json') assert.deepEqual([before.status, after.status], [2, 2]);
        else assert.deepEqual(before, after);
      });
    }
  });

  describe('used wrongly', () => {
    const cases: readonly (readonly [string, string, RegExp])[] = [
      ['without a command', '--', /Usage: machineadm/],
      ['with a command that there is not', 'provison', /unknown command 'provison'[\s\S]*Did you mean provision\?/],
      ['with an option that there is not', 'plan -d x --exitcode', /unknown option '--exitcode'/],
      ['without a document', 'validate', /no document given[\s\S]*See 'machineadm validate --help'/],
      ['with a format that there is not', 'status -o xml', /'xml' is invalid\. It is a format: text, json, yaml, name/],
      ['with a file for a format', 'bundle -o bundle.tar.gz', /Files are written with --output-file/],
      ['with a word of another tool', 'apply -f x', /unknown command 'apply'[\s\S]*Did you mean provision\?/],
      ['with one document in two ways', 'plan -f x y', /give each document with -f or as an argument, not both/],
      [
        'with an option of wrap that is mistyped',
        'wrap --format script --provder x',
        /Did you mean --provider\?[\s\S]*See 'machineadm wrap --help'/,
      ],
      ['with one word too many', 'version now', /too many arguments/],
      ['with a role that there is not', 'example --role Master', /Allowed choices are InitControlPlane/],
      ['without a shell', 'completion', /missing required argument 'shell'/],
      ['without the second word', 'report', /Usage: machineadm report/],
      ['with a timeout that is none', 'status --wait --timeout soon', /"soon" is not a duration[\s\S]*90s or 10m/],
      ['with a version that is none', 'render kubeadm --kubeadm-version new -d DOCUMENT', /"new" is not a version/],
    ];
    for (const [what, args, message] of cases) {
      test(`${what} ends with 2, says how to correct it on stderr, and prints no data`, async () => {
        const { status, stdout, stderr } = await run(args);
        assert.equal(status, 2, stderr);
        assert.equal(stdout, '');
        assert.match(stderr, message);
      });
    }
  });

  describe('-o json', () => {
    const cases: readonly (readonly [string, string, number])[] = [
      ['version', 'version -o json', 0],
      ['a valid document', 'validate -d DOCUMENT -o json', 0],
      ['the document', 'config show -d DOCUMENT -o json', 0],
      ['where its fields come from', 'config show --origin -d DOCUMENT --output=json', 0],
      ['a document that is not there', 'validate -d /nowhere.yaml -ojson', 3],
      ['a wrong use that only the command notices', 'status --wait --timeout soon -o json', 2],
      ['a wrong use that no command notices', 'plan --bogus -o json', 2],
      ['a command that there is not', 'provison -o json', 2],
    ];
    for (const [what, args, exitCode] of cases) {
      test(`prints ${what} as one JSON value on standard output, and exits with ${exitCode}`, async () => {
        const { status, stdout } = await run(args);
        assert.equal(status, exitCode);
        assert.equal(typeof JSON.parse(stdout), 'object');
      });
    }

    test('prints an error in full as data, and as text on stderr', async () => {
      const failed = await run('config show -d /nowhere.yaml -o json');
      const { error } = JSON.parse(failed.stdout);
      assert.equal(error.reason, 'DocumentNotFound');
      assert.match(
        failed.stderr,
        /^machineadm: the document \/nowhere\.yaml cannot be read: .* \[DocumentNotFound\]$/m,
      );
      assert.ok(failed.stderr.includes(error.remedy));
    });

    test('lists every mistake of a document with its place', async () => {
      const bad = join(directory, 'bad.yaml');
      writeFileSync(bad, 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nhost: {swop: Disabled}\n');
      const { status, stdout, stderr } = await commandLine('validate', '-d', bad, '-o', 'json');
      assert.equal(status, 3);
      assert.equal(stderr, '');
      const { valid, reason, problems } = JSON.parse(stdout);
      assert.deepEqual([valid, reason], [false, 'DocumentInvalid']);
      const places = problems.map((problem: { line: number; path: string }) => `${problem.line} ${problem.path}`);
      assert.ok(places.includes('3 host.swop'), JSON.stringify(problems));
      assert.equal(new Set(places).size, places.length);
    });
  });

  describe('a document that is allowed but will hurt', () => {
    const lines = [
      'apiVersion: machineadm.dev/v1alpha1',
      'kind: MachineBootstrap',
      'metadata: {name: n}',
      'variables: {rack: {env: RACK}}',
      'host:',
      '  hostname: node-${rack}',
      '  storage:',
      '    filesystems: [{device: {path: /dev/vdb}, type: ext4}]',
      'kubernetes:',
      '  version: v1.31.0',
      '  role: InitControlPlane',
      '  cluster: {controlPlaneEndpoint: "api.${rack}.example:6443"}',
    ];
    let hurting = '';
    before(() => {
      hurting = join(directory, 'hurting.yaml');
      writeFileSync(hurting, `${lines.join('\n')}\n`);
    });

    test('is valid: validate lists the warnings, and the fields that only the machine can check', async () => {
      const { status, stdout, stderr } = await commandLine('validate', '-d', hurting);
      assert.deepEqual([status, stderr], [0, '']);
      const [warning, ...rest] = stdout.trimEnd().split('\n');
      const where = `warning: ${hurting}:8:19  host.storage.filesystems[0]: no mount of the document names`;
      assert.ok(warning?.startsWith(where), warning);
      assert.match(warning ?? '', /\(hint: add it to host\.storage\.mounts\)$/);
      assert.deepEqual(rest.slice(0, -1), [
        'not checked: host.hostname: depends on a variable of the machine',
        'not checked: kubernetes.cluster.controlPlaneEndpoint: depends on a variable of the machine',
      ]);
      assert.match(rest.at(-1) ?? '', /^valid: /);
    });

    test('has its warnings in JSON, with their places', async () => {
      const { warnings, unresolved } = JSON.parse((await commandLine('validate', '-d', hurting, '-o', 'json')).stdout);
      assert.equal(warnings.length, 1);
      const [{ file, line, column, path }] = warnings;
      assert.deepEqual([file, line, column, path], [hurting, 8, 19, 'host.storage.filesystems[0]']);
      assert.deepEqual(unresolved, ['host.hostname', 'kubernetes.cluster.controlPlaneEndpoint']);
    });

    test('is rendered with a comment that names the unknown values', async () => {
      const { status, stdout } = await commandLine('render', 'kubeadm', '-d', hurting);
      assert.equal(status, 0);
      const comments = stdout.split('\n').filter((line) => line.startsWith('#'));
      assert.deepEqual(comments.slice(-2), ['#   host.hostname', '#   kubernetes.cluster.controlPlaneEndpoint']);
      assert.match(comments.at(-3) ?? '', /only the machine has the values of these/);
      const known = await run('render kubeadm -d DOCUMENT');
      assert.doesNotMatch(known.stdout, /only the machine/);
    });
  });

  describe('a command with one subcommand runs it where none is named', () => {
    for (const [short, long] of [
      ['config -f DOCUMENT --origin', 'config show -f DOCUMENT --origin'],
      ['config DOCUMENT', 'config show DOCUMENT'],
      ['-o json config DOCUMENT', 'config show DOCUMENT -o json'],
      ['images -f DOCUMENT -o json', 'images list -f DOCUMENT -o json'],
      ['images -o name -- DOCUMENT', 'images list -o name -- DOCUMENT'],
      ['render DOCUMENT', 'render kubeadm DOCUMENT'],
      ['images -f /nowhere.yaml -o json', 'images list -f /nowhere.yaml -o json'],
    ] as const) {
      test(short, async () => {
        const [found, expected] = [await run(short), await run(long)];
        assert.deepEqual(found, expected);
        assert.equal(found.status, short.includes('/nowhere') ? 3 : 0);
      });
    }

    test('not where its help is asked for, and none that is in no help', async () => {
      for (const line of ['images --help', 'images help', 'help images', 'images -f DOCUMENT --help'])
        assert.match(
          (await run(line)).stdout,
          /^Usage: machineadm images \[list\] \[options\] \[document\.\.\.\]\n/,
          line,
        );
      const hidden = await run('sentinel');
      assert.deepEqual(
        [hidden.status, hidden.stdout, hidden.stderr.split('\n')[0]],
        [2, '', 'Usage: machineadm sentinel [options] [command]'],
      );
    });

    test('not for a word that is neither its subcommand nor the path of a document', async () => {
      const { status, stdout, stderr } = await run('images lst -o json');
      assert.equal(status, 2);
      assert.equal(JSON.parse(stdout).error.reason, 'UsageInvalid');
      assert.equal(
        stderr,
        "machineadm: unknown command 'lst'\n(Did you mean list?)\nSee 'machineadm images list --help'.\n",
      );
    });
  });

  describe('images list', () => {
    const path = () => join(directory, 'images.yaml');
    before(() =>
      writeFileSync(
        path(),
        `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: node-1}
images: {required: ["c.example/cni:1"]}
kubernetes: {version: v1.35.99, role: InitControlPlane, cluster: {imageRepository: m.example}}
`,
      ),
    );

    test('prints one image a line and nothing else; uncertain images are reported on stderr', async () => {
      const { status, stdout, stderr } = await commandLine('images', 'list', '-d', path());
      assert.equal(status, 0);
      const lines = stdout.trimEnd().split('\n');
      assert.equal(lines.length, 8);
      assert.ok(lines.includes('m.example/kube-apiserver:v1.35.99') && lines.includes('c.example/cni:1'), stdout);
      assert.match(stderr, /^not certain: m\.example\/etcd:/m);
    });

    test('prints the purpose of each image as data', async () => {
      const { stdout } = await commandLine('images', 'list', '-d', path(), '-o', 'json');
      const { airGapped, images, unknown } = JSON.parse(stdout);
      assert.deepEqual([airGapped, unknown], [false, []]);
      assert.deepEqual(images.at(-1), { image: 'c.example/cni:1', for: ['images.required'], certain: true });
    });
  });

  describe('config show', () => {
    test('--origin names the source, line and column of each field, the last one that set it', async () => {
      const base = join(directory, 'base.yaml');
      const dropIns = join(directory, 'site.d');
      mkdirSync(dropIns);
      const header = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\n';
      writeFileSync(base, `${header}metadata:\n  name: from-base\nhost:\n  swap: Disabled\n`);
      writeFileSync(join(dropIns, '10-name.yaml'), 'host:\n  hostname: first\n');
      writeFileSync(join(dropIns, '20-name.yaml'), 'host:\n  hostname: second\n');
      const { stdout } = await commandLine('config', 'show', '--origin', '-d', base, '-d', dropIns, '-o', 'json');
      const fields: { path: string; value: unknown; origin: string }[] = JSON.parse(stdout).fields;
      const of = (path: string) => fields.find((field) => field.path === path);
      assert.deepEqual(of('host.hostname'), {
        path: 'host.hostname',
        value: 'second',
        origin: `${dropIns}/20-name.yaml:2:13`,
      });
      assert.equal(of('metadata.name')?.origin, `${base}:4:9`);
      const text = await commandLine('config', 'show', '--origin', '-d', base, '-d', dropIns);
      assert.ok(text.stdout.includes(`${base}:6:9  host.swap = "Disabled"`), text.stdout);
    });

    test('shows no secret, in no form', async () => {
      const path = join(directory, 'secret.yaml');
      writeFileSync(
        path,
        `${readFileSync(document, 'utf8').replaceAll('abcdef.0123456789abcdef', 'zyxwvu.fedcba9876543210')}secrets:\n  short: {value: ab}\n`,
      );
      for (const args of [[], ['--origin'], ['-o', 'json'], ['--origin', '-o', 'json']]) {
        const { status, stdout, stderr } = await commandLine('config', 'show', '-d', path, ...args);
        assert.equal(status, 0, stderr);
        assert.doesNotMatch(stdout + stderr, /fedcba9876543210|: ab$|"ab"/m);
      }
    });

    test('masks the fields in which people write secrets', async () => {
      const path = join(directory, 'undeclared.yaml');
      writeFileSync(
        path,
        `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: n}
host:
  hooks: {early: {commands: ['curl -H "X-Auth: canary-in-command" https://x'], environment: {A: canary-in-environment}}}
  files: [{path: /a, mode: '0600', content: canary-in-file}]
  services: [{name: x, dropIns: [{name: a.conf, content: "[Service]\\nEnvironment=TOKEN=canary-in-unit\\n"}]}]
reporting:
  sinks: [{type: Webhook, url: 'https://u:canary-in-url@x.example/p?sig=canary-in-query', headers: {a: canary-in-header}}]
`,
      );
      for (const args of [[], ['--origin'], ['-o', 'json'], ['--origin', '-o', 'json']]) {
        const { status, stdout, stderr } = await commandLine('config', 'show', '-d', path, ...args);
        assert.equal(status, 0, stderr);
        assert.doesNotMatch(stdout + stderr, /canary/);
      }
    });
  });

  describe('render kubeadm', () => {
    const families: readonly (readonly [string, string])[] = [
      ['v1.20.2', 'kubeadm.k8s.io/v1beta2'],
      ['v1.21.14', 'kubeadm.k8s.io/v1beta2'],
      ['v1.22.0', 'kubeadm.k8s.io/v1beta3'],
      ['v1.30.5', 'kubeadm.k8s.io/v1beta3'],
      ['v1.31.4', 'kubeadm.k8s.io/v1beta4'],
      ['v1.37.0', 'kubeadm.k8s.io/v1beta4'],
    ];
    for (const [version, apiVersion] of families) {
      test(`for ${version} prints ${apiVersion}, and no secret`, async () => {
        const { status, stdout, stderr } = await run(`render kubeadm --kubeadm-version ${version} -d DOCUMENT`);
        assert.equal(status, 0, stderr);
        const documents = parseAllDocuments(stdout).map((one) => one.toJS());
        const kubeadm = documents.filter((one) => one.apiVersion.startsWith('kubeadm.k8s.io/'));
        assert.deepEqual(kubeadm.map(({ kind }) => kind).sort(), ['ClusterConfiguration', 'InitConfiguration']);
        for (const one of kubeadm) assert.equal(one.apiVersion, apiVersion);
        assert.doesNotMatch(stdout, /0123456789abcdef/);
        assert.match(stdout, /^---\n# kubeadm init --config FILE/);
      });
    }

    test('reports a kubeadm that is too old', async () => {
      const { status, stderr } = await run('render kubeadm --kubeadm-version v1.19.0 -d DOCUMENT');
      assert.equal(status, 4, stderr);
      assert.match(stderr, /\[KubeadmUnsupported\]/);
    });
  });

  test('schema prints the published schema', async () => {
    assert.equal(
      (await commandLine('schema')).stdout,
      readFileSync(join(ROOT, 'contract/schema/v1alpha1.json'), 'utf8'),
    );
  });

  test('schema --editor writes the schema for editors beside documents, and replaces only its own', async () => {
    const editor = join(directory, 'editor');
    const path = join(editor, 'machineadm.schema.json');
    const first = await commandLine('schema', '--editor', editor);
    assert.equal(first.stdout, '# yaml-language-server: $schema=machineadm.schema.json\n');
    const published = readFileSync(join(ROOT, 'contract/editor/v1alpha1.json'), 'utf8');
    assert.equal(readFileSync(path, 'utf8'), published);
    assert.equal((await commandLine('schema', '--editor', editor)).status, 0);
    writeFileSync(path, '{"mine": true}\n');
    const refused = await commandLine('schema', '--editor', editor);
    assert.equal(refused.status, 4);
    assert.match(refused.stderr, /exists already, and is not a schema of machineadm \[FileNotWritten\]/);
    assert.equal(readFileSync(path, 'utf8'), '{"mine": true}\n');
  });

  test('explain prints the purpose of a field, and suggests a name for an unknown one', async () => {
    const { stdout } = await commandLine('explain', 'host.files.mode');
    assert.match(stdout, /^FIELD: {6}host\.files\.mode <FileMode>$/m);
    assert.match(stdout, /^ {4}mode: "0600"$/m);
    assert.match((await commandLine('explain', '--recursive', 'host.swap')).stdout, /^FIELD: {6}host\.swap /m);
    assert.match(
      (await commandLine('explain', '--recursive', 'host.storage')).stdout,
      /^ {2}device <\w+> -required-$/m,
    );
    const unknown = await commandLine('explain', 'host.fles');
    assert.equal(unknown.status, 2);
    assert.match(unknown.stderr, /no field "fles" below host.*\nDid you mean "files"\?/);
  });

  test('explain prints the same about a field as the reference', async () => {
    const sysctl = (await commandLine('explain', 'host.sysctl')).stdout;
    assert.match(
      sysctl,
      /^CHANGES:\n {4}`\/etc\/sysctl\.d\/99-zzz-machineadm-NAME\.conf`, with the name of the document,\n/m,
    );
    assert.match(sysctl, /^PLATFORM:\n {4}Linux only \(Windows: these are settings of the Linux kernel\)\n$/m);
    assert.match(sysctl, /^SINCE:\n {4}0\.1\.0\n$/m);
    const domain = (await commandLine('explain', 'kubernetes.cluster.dnsDomain')).stdout;
    assert.match(domain, /^KUBEADM:\n {4}ClusterConfiguration\.networking\.dnsDomain\n {4}every version\n$/m);
    // What the field that it is in changes, with the path of that field.
    assert.match(domain, /^CHANGES:\n(?: {4}.*\n)+ {4}.*\(kubernetes\.cluster\)\n$/m);
    const timeout = (await commandLine('explain', 'kubernetes.timeouts.etcd')).stdout;
    assert.match(timeout, /^KUBEADM:\n(?: {4}.*\n)+ {4}1\.32 and later\n$/m);
    const swap = (await commandLine('explain', 'host.swap')).stdout;
    assert.match(swap, /^ALLOWED:\n {4}Disabled: \S.*\n {4}Unmanaged: \S/m);
    // The key of a map is no part of the path in the reference.
    assert.match((await commandLine('explain', 'secrets.token.file')).stdout, /^SINCE:\n {4}0\.1\.0\n$/m);
    assert.match((await commandLine('explain', 'host.files.unpack.stripComponents')).stdout, /^ALLOWED:\n {4}\S/m);
  });

  test('explain has these parts in this order', async () => {
    assert.equal(
      (await commandLine('explain', 'kubernetes.role')).stdout,
      [
        'KIND:       MachineBootstrap',
        'VERSION:    machineadm.dev/v1alpha1',
        '',
        'FIELD:      kubernetes.role <string> -required-',
        '',
        'DESCRIPTION:',
        '    InitControlPlane creates a cluster, JoinControlPlane adds a control plane',
        '    machine to one, Worker adds any other machine.',
        '',
        'ALLOWED:',
        '    InitControlPlane: Creates a cluster.',
        '    JoinControlPlane: Adds a control plane machine to a cluster.',
        '    Worker: Adds any other machine to a cluster.',
        '',
        'CHANGES:',
        '    whether `kubeadm init` or `kubeadm join` runs',
        '',
        'EXAMPLE:',
        '    role: Worker',
        '',
        'SINCE:',
        '    0.1.0',
        '',
      ].join('\n'),
    );
    const headings = async (field: string) =>
      (await commandLine('explain', field)).stdout.split('\n').flatMap((line) => /^([A-Z ]+):/.exec(line)?.[1] ?? []);
    assert.deepEqual(await headings('host.users'), [
      'KIND',
      'VERSION',
      'FIELD',
      'DESCRIPTION',
      'DEFAULT',
      'CHANGES',
      'PLATFORM',
      'EXAMPLE',
      'SINCE',
      'FIELDS',
    ]);
    assert.deepEqual(await headings('kubernetes.timeouts.etcd'), [
      'KIND',
      'VERSION',
      'FIELD',
      'DESCRIPTION',
      'CHANGES',
      'KUBEADM',
      'EXAMPLE',
      'SINCE',
    ]);
  });

  test('version prints its result without reading a document', async () => {
    const told = JSON.parse((await commandLine('version', '-o', 'json')).stdout);
    assert.deepEqual(Object.keys(told), ['apiVersion', 'kind', 'version', 'commit', 'node', 'documentVersions']);
    assert.equal(told.node, process.versions.node);
    assert.equal((await commandLine('--version')).stdout, `${told.version}\n`);
  });
});
