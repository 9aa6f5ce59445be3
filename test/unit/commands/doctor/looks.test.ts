import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Verdict } from '@machineadm/failures/verdict.ts';
import type { MachineState } from '@machineadm/status/status.ts';
import { machineCheckGroups } from '../../../../src/commands/doctor/machine-checks.ts';
import { checkOf, nodeChecks } from '../../../../src/commands/doctor/run.ts';
import type { Finding } from '../../../../src/diagnosis/checks/finding.ts';
import { loaded } from '../../../support/document.ts';
import { facts } from '../../../support/facts.ts';
import { type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';
import { FAILURE, statusAfter } from '../../reporting/runs.ts';

const FAILED = statusAfter({ kind: 'concluded', conclusion: { outcome: 'Failed', exitCode: 11, failure: FAILURE } });
const SUCCEEDED = statusAfter({ kind: 'concluded', conclusion: { outcome: 'Succeeded', exitCode: 0 } });

describe('the verdict on a node, as a finding of doctor', () => {
  const verdict = (over: Partial<Verdict>): Verdict => ({
    outcome: 'failure',
    reason: 'SwapEnabled',
    summary: 'Swap is on.',
    retryable: false,
    cleanup: 'none',
    phase: '',
    evidence: [],
    causes: [],
    symptoms: [],
    remedy: 'Turn it off.',
    confidence: 1,
    ...over,
  });

  test('is absent without an earlier run', () => {
    assert.deepEqual(nodeChecks(undefined, FAILED, 'attempted', false), []);
  });

  test('is passed if the node works, whichever document ran last', () => {
    const [finding] = nodeChecks(verdict({ outcome: 'success' }), SUCCEEDED, 'node', true);
    assert.equal(finding?.severity, 'passed');
    assert.equal(finding?.text, 'this machine is a node, and it works');
  });

  test('speaks of no node, and of none that works, where no run proved one', () => {
    const [finding] = nodeChecks(verdict({ outcome: 'success' }), SUCCEEDED, 'host only', false);
    assert.equal(finding?.text, 'this machine is set up without Kubernetes; the last run succeeded');
  });

  test("claims nobody else's node", () => {
    const [finding] = nodeChecks(verdict({ outcome: 'success' }), undefined, 'never touched', true);
    assert.equal(finding?.text, 'this machine is a node that machineadm did not create, and it works');
  });

  test('of a failure says whether a run failed, and whether the same command may succeed', () => {
    assert.deepEqual(nodeChecks(verdict({}), FAILED, 'attempted', false), [
      {
        id: 'node',
        title: 'node',
        severity: 'failed',
        text: 'the last run failed: Swap is on.',
        reason: 'SwapEnabled',
        remedy: 'Turn it off. The same command will fail again.',
      },
    ]);
    for (const status of [SUCCEEDED, undefined])
      assert.deepEqual(nodeChecks(verdict({ retryable: true }), status, 'node', false), [
        {
          id: 'node',
          title: 'node',
          severity: 'failed',
          text: 'Swap is on.',
          reason: 'SwapEnabled',
          remedy: 'Turn it off. The same command may succeed later.',
        },
      ]);
  });

  for (const reason of ['Unknown', ''] as const)
    test(`has no reason where that is "${reason}"`, () => {
      const [found] = nodeChecks(verdict({ reason }), undefined, 'node', false);
      assert.equal(found !== undefined && 'reason' in found, false);
    });
});

describe('a finding of doctor in the format of its first version', () => {
  for (const [severity, state] of [
    ['passed', 'ok'],
    ['undecided', 'skipped'],
    ['skipped', 'skipped'],
    ['warning', 'warning'],
    ['failed', 'failed'],
  ] as const)
    test(`that is ${severity} is ${state}`, () => {
      assert.deepEqual(checkOf({ id: 'swap', title: 'machine', severity, text: 'swap is off' }), {
        id: 'swap',
        group: 'machine',
        state,
        text: 'swap is off',
      });
    });

  test('has its reason and its remedy, where it has them', () => {
    const finding: Finding = { id: 'a', title: 'b', severity: 'failed', text: 'c', reason: 'DiskFull', remedy: 'd' };
    assert.deepEqual(checkOf({ ...finding, field: 'host.swap' }), {
      id: 'a',
      group: 'b',
      state: 'failed',
      text: 'c',
      reason: 'DiskFull',
      remedy: 'd',
    });
  });
});

describe('doctor checks a machine', () => {
  const MIB = 1024 * 1024;
  /** Each directory that grows has a file system of its own; the machine is small. */
  const MACHINE: MemoryMachine = {
    programs: {
      findmnt: ({ args }) => ({ stdout: `${args.at(-1)} ${1_000 * MIB} ${900 * MIB} rw\n` }),
      timedatectl: () => ({ stdout: 'yes\n' }),
      getent: () => ({ status: 2 }),
    },
    files: {
      '/proc/meminfo': `MemTotal: ${1_000 * 1024} kB\nMemAvailable: ${190 * 1024} kB\n`,
      '/proc/swaps': 'Filename\n/swapfile file 1 0 -2\n',
    },
  };
  const looks = async (body?: string, state?: MachineState) =>
    machineCheckGroups(
      memoryHost(MACHINE),
      facts({ hostname: 'machine-1' }),
      body === undefined ? undefined : await loaded(body),
      state,
      () => 0,
    );
  type Looks = Awaited<ReturnType<typeof looks>>;
  const found = async (all: Looks, name: string) =>
    ((await all[name]?.()) ?? []).map(({ id, severity, reason }) =>
      [id, severity, ...((reason ?? '') ? [reason] : [])].join(' '),
    );

  const HOST = 'host: {hostname: n1, swap: Disabled}\n';
  const WORKER =
    'kubernetes: {version: v1.35.2, role: Worker, join: {discovery: {token: {endpoint: "api.example:6443", token: abcdef.0123456789abcdef, caCertHashes: ["sha256:' +
    `${'a'.repeat(64)}"]}}}}\n`;
  const CONTROL_PLANE =
    'kubernetes: {version: v1.35.2, role: InitControlPlane, controlPlane: {apiEndpoint: {advertiseAddress: 10.0.0.10, bindPort: 7443}}}\n';
  const DISKS = ['kubelet', 'containerd', 'etcd'].map((name) => `disk/var/lib/${name} passed`);
  const LOG = 'disk/var/log passed';

  const TABLE: readonly (readonly [string, string | undefined, Readonly<Record<string, readonly string[]>>])[] = [
    [
      'nothing',
      undefined,
      {
        // It may be a control plane; for the capacity and the ports it counts as a worker.
        disks: [...DISKS, LOG],
        capacity: ['memory warning OutOfMemory', 'cpu passed'],
        swap: ['swap warning SwapEnabled'],
        hostname: ['hostname warning HostnameUnresolvable'],
        routing: ['route warning NoDefaultRoute'],
        ports: ['ports passed'],
        runtime: ['runtime/service failed ContainerRuntimeMissing'],
        document: [],
        placeholders: [],
        endpoint: [],
      },
    ],
    [
      'a host',
      HOST,
      {
        disks: [LOG],
        capacity: ['memory passed', 'cpu passed'],
        swap: ['swap passed'],
        hostname: ['hostname passed'],
        ports: [],
        runtime: [],
        endpoint: [],
      },
    ],
    [
      'a host with images',
      'images: {required: ["registry.example/a:1"]}\n',
      { ports: [], runtime: ['runtime/service failed ContainerRuntimeMissing'], swap: ['swap warning SwapEnabled'] },
    ],
    [
      'a host with containerd',
      'containerRuntime: {containerd: {}}\n',
      { ports: [], runtime: ['runtime/service failed ContainerRuntimeMissing'] },
    ],
    [
      'a worker',
      WORKER,
      {
        disks: [...DISKS.slice(0, 2), LOG],
        capacity: ['memory warning OutOfMemory', 'cpu passed'],
        routing: ['route warning NoDefaultRoute'],
        ports: ['ports passed'],
        runtime: ['runtime/service failed ContainerRuntimeMissing'],
      },
    ],
    [
      'a control plane',
      CONTROL_PLANE,
      {
        disks: [...DISKS, LOG],
        routing: [],
        endpoint: [],
      },
    ],
  ];
  for (const [what, body, expected] of TABLE)
    test(`as ${what}`, async () => {
      const all = await looks(body);
      const answers = await Promise.all(
        Object.keys(expected).map(async (name) => [name, await found(all, name)] as const),
      );
      assert.deepEqual(Object.fromEntries(answers), expected);
    });

  test('as one that was set up without Kubernetes: nothing that only a node needs', async () => {
    const all = await looks(undefined, 'host only');
    const answers = await Promise.all(Object.keys(all).map(async (name) => await found(all, name)));
    assert.deepEqual(answers.flat().sort(), [
      'cgroup passed',
      'clock/source passed',
      'cpu passed',
      LOG,
      'hostname warning HostnameUnresolvable',
      'memory passed',
    ]);
  });

  test('and the ports of a control plane with the one of the document', async () => {
    const text = async (body?: string) => (await (await looks(body)).ports?.())?.[0]?.text;
    assert.equal(await text(), 'free: 10250');
    assert.equal(await text(WORKER), 'free: 10250');
    assert.equal(await text(CONTROL_PLANE), 'free: 7443, 10250, 10257, 10259, 2379, 2380, 2381');
    assert.match((await text('kubernetes: {version: v1.35.2, role: InitControlPlane}\n')) ?? '', /^free: 6443, /);
  });

  test('and the memory that a control plane needs', async () => {
    const [memory] = await found(await looks(CONTROL_PLANE), 'capacity');
    assert.equal(memory, 'memory failed InsufficientMemory');
  });

  test('and the name of the machine, if the document has none', async () => {
    const text = async (body?: string) => (await (await looks(body)).hostname?.())?.[0]?.text;
    assert.equal(await text(), 'the host name machine-1 does not resolve');
    assert.equal(await text(HOST), 'the host name will be n1');
  });

  test('and reports in one finding that all requirements of the document are met', async () => {
    const host = memoryHost();
    const { document } = machineCheckGroups(host, facts(), await loaded('host: {sysctl: {}}\n'), undefined);
    assert.deepEqual(await document?.(), [
      { id: 'document', title: 'document', severity: 'passed', text: 'all requirements of the steps are met' },
    ]);
    assert.deepEqual(host.log, []);
  });
});
