import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { MACHINE_STATES, type MachineState } from '@machineadm/status/status.ts';
import { stringify } from 'yaml';
import { withChecksum } from '../../../src/host/files/checksum.ts';
import { BEFORE_RESET } from '../../../src/pipeline/machine-state.ts';
import { startHealthz } from '../../support/api-server.ts';
import { Transcript } from '../../support/machine-in-memory.ts';
import type { MemoryMachine } from '../../support/memory-host.ts';

const PAGE = join(import.meta.dirname, '../../../docs/machine-states.md');
const JOURNAL = '/var/lib/machineadm/journal';

function documentOf(different: object, name = 'web-1'): string {
  const head = { apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap', metadata: { name } };
  return stringify({ ...head, reporting: { sinks: [] }, ...different });
}

const HOST = { hostname: 'node-1', files: [{ path: '/etc/motd', content: 'hello' }] };
const SITE_NODE = {
  version: 'v1.30.4+k3s1',
  role: 'Worker',
  bootstrapper: {
    exec: {
      command: '/usr/local/sbin/make-node',
      successTest: { command: ['is-node'] },
      reset: { command: ['unmake-node'] },
    },
  },
  join: {
    discovery: { token: { token: { secret: 'token' }, endpoint: '10.0.0.1:6443', unsafeSkipCAVerification: true } },
  },
};
const NODE = { secrets: { token: { file: '/run/secrets/token' } }, host: HOST, kubernetes: SITE_NODE };

/** A machine on which every program succeeds, and hooks fail. */
function machine(): MemoryMachine {
  return {
    files: { '/etc/os-release': 'ID=debian\n', '/run/secrets/token': 'zyxwvu.zyxwvutsrqponmlk\n' },
    kernelFiles: { '/proc/sys/kernel/hostname': 'node-1', '/proc/stat': 'btime 1795168800\n' },
    services: { 'machineadm-sentinel.service': {} },
    programs: {
      '/usr/local/sbin/make-node': () => ({}),
      'is-node': () => ({}),
      'unmake-node': () => ({}),
      rm: () => ({}),
      sh: (command) => {
        command.onDescriptorLine?.('machineadm-hook 1 begin', () => {});
        return { status: 1, stderr: 'hook failed\n' };
      },
    },
  };
}

async function provisioned(story: Transcript, document: object, status = 0): Promise<void> {
  story.file('a.yaml', documentOf(document));
  const told = await story.run('provision -f DIR/a.yaml');
  assert.equal(told.status, status, told.stdout + told.stderr);
}

/** The same journal, as a kubelet that was proved healthy leaves it. */
function withKubelet(story: Transcript, port: number): void {
  const { host } = story.machine;
  const done = JSON.stringify({
    is: 'done',
    step: 'readiness',
    change: 'readiness/KubeletHealthy',
    at: '2026-01-01T00:00:00Z',
  });
  host.put(JOURNAL, `${host.text(JOURNAL) ?? ''}${withChecksum(done)}\n`);
  host.put('/etc/kubernetes/kubelet.conf', 'clusters: []\n');
  host.put('/var/lib/kubelet/config.yaml', `healthzPort: ${port}\n`);
}

/** How a machine becomes what it is. */
const WAYS: Readonly<Record<MachineState, (story: Transcript, port: number) => Promise<void>>> = {
  'never touched': async () => {},
  prepared: async (story) => {
    story.file('image.yaml', documentOf({ host: { files: HOST.files } }));
    const told = await story.run('prepare -f DIR/image.yaml');
    assert.equal(told.status, 0, told.stdout + told.stderr);
  },
  'host only': async (story) => await provisioned(story, { host: HOST }),
  attempted: async (story) =>
    await provisioned(story, { host: { ...HOST, hooks: { early: { commands: ['false'] } } } }, 10),
  node: async (story, port) => {
    await provisioned(story, NODE);
    withKubelet(story, port);
  },
  'broken node': async (story) => {
    await provisioned(story, NODE);
    withKubelet(story, 1);
  },
};

/** The first line that a command says of the machine, without what the run or the probe add. */
async function saidBy(story: Transcript, line: string, of: RegExp): Promise<string> {
  const { stdout, stderr } = await story.run(line);
  return of.exec(`${stdout}${stderr}`)?.[1]?.trim() ?? 'nothing';
}

/** What each command says of a machine in this state. */
async function statements(state: MachineState, port: number): Promise<readonly string[]> {
  using story = new Transcript(machine());
  await WAYS[state](story, port);
  const isOver = story.machine.host.text('/run/machineadm/status.json') !== undefined;
  return [
    await saidBy(
      story,
      'status',
      isOver ? /^ {2}((?:this machine|the setup|no change)[^.\n]*)/m : /machineadm: (.*) \[/,
    ),
    await saidBy(story, 'doctor', /^node\n[├└]─ \w+ +([^:\n]*)/m),
    await saidBy(story, 'sentinel restore', /^((?:no sentinel|restored).*)/m),
    BEFORE_RESET[state],
    await saidBy(story, 'reset --yes', /^((?!\d).*)$/m),
  ];
}

const COLUMNS = ['`status`', '`doctor`', '`sentinel restore`', '`reset` asks', '`reset` says at its end'];

describe('what commands say of a machine', () => {
  test('is the table of docs/machine-states.md', async () => {
    await using healthz = await startHealthz();
    const rows: string[] = [];
    for (const state of MACHINE_STATES)
      rows.push(`| ${state} | ${(await statements(state, healthz.port)).join(' | ')} |`);
    const table = [`| State | ${COLUMNS.join(' | ')} |`, `|---${'|---'.repeat(COLUMNS.length)}|`, ...rows].join('\n');
    const page = readFileSync(PAGE, 'utf8');
    const written = page.replace(/\| State \| `status`.*?(?=\n\n)/s, () => table);
    if (process.env.MACHINEADM_WRITE_TRANSCRIPTS === '1') writeFileSync(PAGE, written);
    else assert.equal(page, written);
  });

  for (const state of MACHINE_STATES)
    test(`is one state in all outputs: ${state}`, async () => {
      await using healthz = await startHealthz();
      using story = new Transcript(machine());
      await WAYS[state](story, healthz.port);
      const doctor = await story.run('doctor -o json');
      assert.equal(JSON.parse(doctor.stdout).machineState, state);
      const { stdout } = await story.run('status -o json');
      // Only a probe tells a broken node from a node, and a machine without a run has no status.
      if (state !== 'never touched' && state !== 'prepared')
        assert.equal(JSON.parse(stdout).thisMachine.state, state === 'broken node' ? 'node' : state);
    });

  test('is of a node still, after a document without Kubernetes was applied to it', async () => {
    await using healthz = await startHealthz();
    using story = new Transcript(machine());
    await WAYS.node(story, healthz.port);
    story.file('addon.yaml', documentOf({ host: { files: [{ path: '/etc/addon', content: 'x' }] } }, 'addon'));
    assert.equal((await story.run('provision -f DIR/addon.yaml')).status, 0);
    const { thisMachine } = JSON.parse((await story.run('status -o json')).stdout);
    assert.equal(thisMachine.state, 'node');
    assert.deepEqual(
      thisMachine.documents.map(({ name, command, outcome }: Record<string, string>) => [name, command, outcome]),
      [
        ['web-1', 'provision', 'Succeeded'],
        ['addon', 'provision', 'Succeeded'],
      ],
    );
    assert.match((await story.run('doctor')).stdout, /this machine is a node, and it works/);
    assert.match((await story.run('status')).stdout, /this machine is a node\. Its documents:\n {4}web-1 {2}provision/);
    assert.equal((await story.run('reset --document addon --yes')).status, 0);
    const after = JSON.parse((await story.run('status -o json')).stdout).thisMachine;
    assert.deepEqual(
      after.documents.map(({ name }: { name: string }) => name),
      ['web-1'],
    );
  });

  test('names the machine once: the run begins and ends with the name of its document', async () => {
    using story = new Transcript(machine());
    story.file('a.yaml', documentOf({ host: HOST }, 'edge-7'));
    const { stdout } = await story.run('provision -f DIR/a.yaml --json-stream');
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual([...new Set(lines.flatMap(({ machine }) => machine?.name ?? []))], ['edge-7']);
    assert.equal(lines.filter(({ type }) => type === 'started').length, 1);
  });
});
