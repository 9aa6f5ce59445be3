import assert from 'node:assert/strict';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Command } from 'commander';
import { parse, stringify } from 'yaml';
import statusSchema from '../../contract/status.v1.schema.json' with { type: 'json' };
import { leavesOf } from '../../src/cli/command-tree.ts';
import { OUTPUT_KINDS } from '../../src/cli/output-kinds.ts';
import { createProgram } from '../../src/commands/index.ts';
import { OUTPUT_SCHEMAS } from '../../src/commands/schema/run.ts';
import { agent } from '../support/agent.ts';
import { inThrowAwayMachine } from '../support/namespace.ts';
import { newKey, testRelease } from '../support/release.ts';
import { rootText, writtenRoot } from '../support/roots.ts';

const DIRECTORY = '/tmp/outputs';
const VERSION = '1.4.0';
const DOCUMENT = `${DIRECTORY}/document.yaml`;
const HOST_ONLY = `${DIRECTORY}/host.yaml`;
const BAD = `${DIRECTORY}/bad.yaml`;

interface Case {
  readonly args: readonly string[];
  /** The kind that is printed, and the exit statuses that it may end with on some machine. */
  readonly kind: string;
  readonly statuses: readonly number[];
}

/** A real output of each command that has `-o`, by the words of the command. */
const CASES: Readonly<Record<string, readonly Case[]>> = {
  validate: [
    { args: [DOCUMENT], kind: 'Validation', statuses: [0] },
    { args: [BAD], kind: 'Validation', statuses: [3] },
    { args: ['/nowhere.yaml'], kind: 'Error', statuses: [3] },
    { args: [], kind: 'Error', statuses: [2] },
    { args: ['--bogus'], kind: 'Error', statuses: [2] },
  ],
  'config show': [
    { args: ['--origin', '-f', DOCUMENT], kind: 'DocumentOrigins', statuses: [0] },
    { args: ['-f', DOCUMENT], kind: 'MachineBootstrap', statuses: [0] },
    { args: ['-f', BAD], kind: 'Error', statuses: [3] },
  ],
  'images list': [{ args: ['-f', DOCUMENT], kind: 'ImageList', statuses: [0] }],
  'render kubeadm': [{ args: ['-f', DOCUMENT], kind: 'KubeadmConfiguration', statuses: [0] }],
  plan: [
    { args: ['-f', HOST_ONLY], kind: 'Plan', statuses: [0] },
    { args: ['-f', HOST_ONLY, '--prepare', '--diff'], kind: 'Plan', statuses: [0] },
    { args: ['-f', DOCUMENT], kind: 'Plan', statuses: [4] },
  ],
  prepare: [{ args: ['--verify', '-f', HOST_ONLY], kind: 'ImageReadiness', statuses: [20] }],
  upgrade: [
    { args: ['--dry-run', '-f', DOCUMENT], kind: 'Error', statuses: [4] },
    { args: ['-f', DOCUMENT], kind: 'BootstrapStatus', statuses: [4] },
    { args: ['--drained', '--delete-emptydir-data', '-f', DOCUMENT], kind: 'Error', statuses: [2] },
  ],
  provision: [
    { args: ['--dry-run', '-f', HOST_ONLY], kind: 'Plan', statuses: [0] },
    { args: ['-f', HOST_ONLY], kind: 'BootstrapStatus', statuses: [0] },
    { args: ['-f', DOCUMENT], kind: 'BootstrapStatus', statuses: [4] },
  ],
  status: [
    { args: [], kind: 'BootstrapStatus', statuses: [0] },
    { args: ['--wait', '--timeout', 'soon'], kind: 'Error', statuses: [2] },
  ],
  timeline: [{ args: [], kind: 'Timeline', statuses: [0] }],
  doctor: [{ args: ['-f', DOCUMENT], kind: 'DoctorReport', statuses: [20] }],
  facts: [{ args: [], kind: 'Facts', statuses: [0] }],
  diagnose: [{ args: [`${DIRECTORY}/kubeadm.log`], kind: 'Diagnosis', statuses: [0] }],
  bundle: [{ args: ['--output-dir', `${DIRECTORY}/bundle`], kind: 'Bundle', statuses: [0] }],
  audit: [
    { args: ['--profile', 'cis-os'], kind: 'HardeningAudit', statuses: [0, 20] },
    { args: ['--residue', '-f', DOCUMENT], kind: 'ResidueAudit', statuses: [0, 20] },
  ],
  conformance: [
    { args: [], kind: 'ConformanceReport', statuses: [0, 20, 22] },
    { args: ['--root', DIRECTORY, '--as', 'host'], kind: 'ConformanceReport', statuses: [20] },
  ],
  'report flush': [{ args: [], kind: 'ReportFlush', statuses: [0] }],
  'report test': [{ args: ['-f', HOST_ONLY], kind: 'ReportTest', statuses: [0, 20] }],
  verify: [
    {
      args: ['--key', `${DIRECTORY}/publisher.pem`, `${DIRECTORY}/release/${VERSION}/manifest.json`],
      kind: 'Verification',
      statuses: [0],
    },
  ],
  fetch: [
    {
      args: [
        ...['--release', VERSION, '--from', `${DIRECTORY}/release`, '--key', `${DIRECTORY}/publisher.pem`],
        ...['--platform', 'linux-amd64', '--output-dir', `${DIRECTORY}/fetched`],
      ],
      kind: 'FetchedFiles',
      statuses: [0],
    },
  ],
  'trust check': [{ args: [`${DIRECTORY}/root.json`], kind: 'TrustedKeys', statuses: [0] }],
  reset: [{ args: ['--dry-run'], kind: 'ResetResult', statuses: [0] }],
  version: [{ args: [], kind: 'Version', statuses: [0] }],
};

/** Commands that print something that is no result, and why they have no `-o`. */
const WITHOUT: Readonly<Record<string, string>> = {
  example: 'prints a document',
  explain: 'prints a page for people; `schema` has its data',
  schema: 'prints a JSON Schema',
  convert: 'prints documents; its report is data with --report json',
  wrap: 'prints user data',
  'trust create': 'writes a file, which is JSON',
  'trust sign': 'writes a file, which is JSON',
  'trust install': '`trust check` prints what is trusted then',
  'report watch': 'runs until it is stopped',
  'sentinel restore': 'for units',
  send: 'the process that sends reports, which answers with lines of its own',
  'hooks run': 'for units',
  completion: 'prints a script',
  __complete: 'for the scripts of completion',
};

function wordsOf(command: Command): string {
  const parent = command.parent;
  return parent === null || parent.parent === null ? command.name() : `${wordsOf(parent)} ${command.name()}`;
}

const leaves = leavesOf(createProgram(() => {}));

describe('every command', () => {
  test('prints data with -o and has its case here, or has its reason not to', () => {
    const formatted = leaves.filter(({ options }) => options.some(({ short }) => short === '-o')).map(wordsOf);
    assert.deepEqual(formatted.toSorted(), Object.keys(CASES).toSorted());
    const others = leaves.map(wordsOf).filter((words) => !formatted.includes(words));
    assert.deepEqual(others.toSorted(), Object.keys(WITHOUT).toSorted());
  });

  test('takes the common options, and a flag means the same everywhere', () => {
    const meanings = new Map<string, Set<string>>();
    for (const { options } of leaves) {
      const visible = options.filter(({ hidden }) => !hidden);
      for (const flag of ['--verbose', '--quiet', '--color']) assert.ok(visible.some(({ long }) => long === flag));
      for (const { long, required } of visible) {
        const takes = required ? 'a value' : 'none';
        meanings.set(long ?? '', new Set([...(meanings.get(long ?? '') ?? []), takes]));
      }
      for (const { short, long } of visible) {
        const wanted = { '-o': '--output', '-f': '--filename', '-v': '--verbose', '-q': '--quiet' }[short ?? ''];
        if (wanted !== undefined) assert.equal(long, wanted);
      }
    }
    const ambiguous = [...meanings].filter(([, kinds]) => kinds.size > 1).map(([flag]) => flag);
    assert.deepEqual(ambiguous, []);
  });

  test('gives every kind of result a real output', () => {
    const kinds = new Set(Object.values(CASES).flatMap((cases) => cases.map(({ kind }) => kind)));
    assert.deepEqual(
      OUTPUT_KINDS.filter((kind) => !kinds.has(kind)),
      ['RunEvent'],
      'those are lines of a stream, which has a test of its own',
    );
  });
});

inThrowAwayMachine(import.meta.filename, () => {
  const header = { apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap', metadata: { name: 'throw-away' } };

  before(async () => {
    mkdirSync(DIRECTORY, { recursive: true });
    for (const path of ['/var/lib/machineadm', '/run/machineadm']) rmSync(path, { recursive: true, force: true });
    writeFileSync(DOCUMENT, (await agent(['example'])).stdout, { mode: 0o600 });
    const host = { files: [{ path: '/etc/machineadm-test/file', content: 'whole\n' }] };
    writeFileSync(HOST_ONLY, stringify({ ...header, host }), { mode: 0o600 });
    writeFileSync(BAD, stringify({ ...header, host: { swop: 'Disabled' } }), { mode: 0o600 });
    writeFileSync(`${DIRECTORY}/kubeadm.log`, 'error execution phase preflight: [ERROR Swap]: running with swap on\n');
    const publisher = newKey();
    writeFileSync(`${DIRECTORY}/publisher.pem`, publisher.pem);
    await testRelease(DIRECTORY, VERSION, publisher);
    writtenRoot(`${DIRECTORY}/root.json`, await rootText({ root: [publisher], expiresAt: '2999-01-01T00:00:00Z' }));
  });

  const schemas: Readonly<Record<string, object>> = { ...OUTPUT_SCHEMAS, BootstrapStatus: statusSchema };
  const ajv = new Ajv2020({ strict: true, formats: { 'date-time': true }, allowUnionTypes: true });
  const assertIs = (kind: string, value: unknown): void => {
    // The schema of the document is held against examples elsewhere.
    if (kind === 'MachineBootstrap') return;
    const validate = ajv.compile(schemas[kind] ?? assert.fail(`${kind} has no schema`));
    assert.ok(validate(value), `${ajv.errorsText(validate.errors)}: ${JSON.stringify(value)}`);
  };

  // In this order: what provision leaves is what status, timeline and reset report.
  for (const [words, cases] of Object.entries(CASES)) {
    for (const { args, kind, statuses } of cases) {
      test(`machineadm ${[words, ...args].join(' ')} prints a ${kind} that its schema accepts`, async () => {
        const run = await agent([...words.split(' '), ...args, '-o', 'json']);
        assert.ok(statuses.includes(run.status ?? -1), `${run.status}: ${run.stderr}`);
        const value = JSON.parse(run.stdout);
        assert.match(value.apiVersion, /^machineadm\.dev\//);
        assert.equal(value.kind, kind);
        assertIs(kind, value);
      });
    }
  }

  test('--json-stream prints an event a line, the status last', async () => {
    const run = await agent(['provision', '-f', HOST_ONLY, '--json-stream']);
    assert.equal(run.status, 0, run.stderr);
    const lines = run.stdout
      .trimEnd()
      .split('\n')
      .map((line): { kind: string; type?: string } => JSON.parse(line));
    for (const line of lines) assertIs(line.kind, line);
    assert.equal(lines.at(-1)?.kind, 'BootstrapStatus');
    assert.deepEqual([lines[0]?.type, lines.at(-2)?.type], ['started', 'concluded']);
    const image = await agent(['prepare', '-f', HOST_ONLY, '--json-stream']);
    assert.equal(image.status, 0, image.stderr);
    assert.equal(JSON.parse(image.stdout.trimEnd().split('\n').at(-1) ?? '').command, 'prepare');
    const later = await agent(['status', '--follow', '--json-stream']);
    assert.equal(later.status, 0, later.stderr);
    assert.match(later.stderr, /prepare of throw-away succeeded/);
    assert.equal(JSON.parse(later.stdout.trimEnd().split('\n').at(-1) ?? '').kind, 'BootstrapStatus');
  });

  test('--timeout ends a run that takes longer with 13; the next one continues', async () => {
    const waiting = `${DIRECTORY}/waiting.yaml`;
    const commands = [`while [ ! -e ${DIRECTORY}/go ]; do sleep 0.1; done`];
    const host = { hooks: { early: { commands } }, files: [{ path: '/etc/machineadm-test/later', content: 'x' }] };
    writeFileSync(waiting, stringify({ ...header, metadata: { name: 'waiting' }, host }), { mode: 0o600 });
    const run = await agent(['provision', '-f', waiting, '--timeout', '3s', '-o', 'json']);
    assert.equal(run.status, 13, run.stderr);
    const { outcome, failure } = JSON.parse(run.stdout);
    assert.deepEqual([outcome, failure.reason], ['Failed', 'DeadlinePassed']);
    assert.match(failure.summary, /did not end within 3\.0 s \(--timeout\)/);
    assert.ok(!existsSync('/etc/machineadm-test/later'));
    writeFileSync(`${DIRECTORY}/go`, '');
    const next = await agent(['provision', '-f', waiting]);
    assert.equal(next.status, 0, next.stderr);
    assert.ok(existsSync('/etc/machineadm-test/later'));
    const wrong = await agent(['prepare', '-f', waiting, '--timeout', 'soon']);
    assert.equal(wrong.status, 2, wrong.stderr);
  });

  test('validates against the schema that schema --kind prints', async () => {
    const { stdout } = await agent(['schema', '--kind', 'Plan']);
    assert.deepEqual(JSON.parse(stdout), OUTPUT_SCHEMAS.Plan);
  });

  test('-o yaml prints the same', async () => {
    for (const args of [['validate', BAD], ['status'], ['version', '--bogus']]) {
      const [json, yaml] = [await agent([...args, '-o', 'json']), await agent([...args, '-o', 'yaml'])];
      assert.deepEqual(parse(yaml.stdout), JSON.parse(json.stdout));
    }
  });

  test('-o jsonpath and -o name print what kubectl would', async () => {
    const out = async (...args: string[]): Promise<string> => (await agent(args)).stdout;
    assert.equal(await out('status', '-o', 'jsonpath={.outcome}'), 'Succeeded');
    assert.equal(
      await out('plan', '-f', HOST_ONLY, '-o', 'jsonpath={range .changes[*]}{.step}{"\\n"}{end}'),
      '',
      'nothing is left to change',
    );
    assert.equal(await out('config', 'show', '-f', HOST_ONLY, '-o', 'name'), 'machinebootstrap/throw-away\n');
    const images = await out('images', 'list', '-f', DOCUMENT, '-o', 'name');
    assert.match(images, /^image\/registry\.k8s\.io\/kube-apiserver:/m);
    const wrong = await agent(['status', '-o', 'jsonpath={.a']);
    assert.equal(wrong.status, 2, wrong.stdout);
    assert.match(wrong.stderr, /a brace is not closed/);
  });
}, ['xz']);
