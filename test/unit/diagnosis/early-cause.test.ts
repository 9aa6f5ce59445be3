import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type EarlyCause, watchForCause } from '../../../src/diagnosis/early-cause.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { type MemoryMachine, memoryHost } from '../../support/memory-host.ts';

const UNIT = {
  loadState: 'loaded',
  activeState: 'activating',
  subState: 'auto-restart',
  result: 'exit-code',
  command: ['/usr/bin/kubelet', '--config=/var/lib/kubelet/config.yaml'],
  environment: '',
  environmentFiles: [],
  memoryMax: undefined,
  ended: { by: 'exit', status: 1 },
} as const;
const UNKNOWN_FLAG =
  'E1128 03:00:00.000000 1 run.go:72] "command failed" err="failed to parse kubelet flag: unknown flag: --nonsense"';
/** After the run began. */
const LATER = 4_000_000_000_000;
const CONFIG = { '/var/lib/kubelet/config.yaml': 'kind: KubeletConfiguration\n' };

/** journalctl that prints these lines of the kubelet. */
const journal = (lines: () => readonly string[]) => ({
  journalctl: ({ args }: { readonly args: readonly string[] }) => ({
    stdout: args.includes('kubelet.service')
      ? lines()
          .map((MESSAGE) => `${JSON.stringify({ MESSAGE, SYSLOG_IDENTIFIER: 'kubelet' })}\n`)
          .join('')
      : '',
  }),
});

/** What is reported within this time on a machine, each with the second. */
async function watched(
  machine: MemoryMachine,
  seconds: number,
  eachSecond: (second: number) => void = () => {},
): Promise<{ second: number; cause: EarlyCause | undefined }[]> {
  using clock = fakeClock();
  const reported: { second: number; cause: EarlyCause | undefined }[] = [];
  const stop = new AbortController();
  for (let second = 0; second < seconds; second += 1) clock.at(second * 1000, () => eachSecond(second));
  clock.at(seconds * 1000, () => stop.abort());
  const context = {
    since: { realTimeMs: clock.now() },
    role: 'InitControlPlane',
    criSocket: 'unix:///run/containerd/containerd.sock',
  } as const;
  await clock.until(
    watchForCause(memoryHost(machine), context, stop.signal, (cause) => {
      reported.push({ second: clock.passedMs / 1000, cause });
    }),
  );
  return reported;
}

/** An API server that exited. */
const EXITED = {
  ...{ id: '1', namespace: 'kube-system', name: 'kube-apiserver', reason: 'Error', exitCode: 1 },
  logPath: '/var/log/pods/a/0.log',
};

describe('while a bootstrapper waits', () => {
  test('a kubelet with an unknown flag is named within 10 s, and is permanent after its second exit', async () => {
    let now = 0;
    // It exits at 4 s, is started again by systemd at 14 s, and exits at once.
    const kubelet = {
      detail: 'activating',
      get active() {
        return now < 4;
      },
      get unit() {
        return { ...UNIT, restarts: now < 14 ? 0 : 1 };
      },
    };
    const reported = await watched(
      { files: CONFIG, services: { kubelet }, programs: journal(() => (now < 4 ? [] : [UNKNOWN_FLAG])) },
      40,
      (second) => {
        now = second;
      },
    );
    assert.deepEqual(
      reported.map(({ cause }) => [cause?.failure.reason, cause?.isPermanent]),
      [
        ['KubeletUnknownFlag', false],
        ['KubeletUnknownFlag', true],
      ],
    );
    const [seen, permanent] = reported;
    assert.ok((seen?.second ?? 99) <= 10, `${seen?.second} s`);
    assert.ok((permanent?.second ?? 99) <= 20, `${permanent?.second} s`);
    assert.match(seen?.cause?.failure.evidence[0]?.text ?? '', /unknown flag: --nonsense/);
  });

  test('a kubelet that has no configuration yet is no cause, however often it exits', async () => {
    let restarts = 0;
    const kubelet = {
      active: false,
      detail: 'activating',
      get unit() {
        return { ...UNIT, restarts };
      },
    };
    const reported = await watched({ services: { kubelet }, programs: journal(() => [UNKNOWN_FLAG]) }, 40, () => {
      restarts += 1;
    });
    assert.deepEqual(reported, []);
  });

  test('a machine on which all is well is not reported, and its logs are read seldom', async () => {
    let reads = 0;
    const programs = journal(() => {
      reads += 1;
      return ['I1128 03:00:00.000000 1 server.go:1] "Started kubelet"'];
    });
    const reported = await watched(
      { files: CONFIG, services: { kubelet: { active: true, enabled: true } }, programs },
      30,
    );
    assert.deepEqual(reported, []);
    assert.ok(reads <= 5, `${reads} times`);
  });

  test('a kubelet that kubeadm stops and starts again is no cause; one that stays stopped is', async () => {
    let now = 0;
    const stopped = {
      ...UNIT,
      activeState: 'inactive',
      subState: 'dead',
      result: 'success',
      restarts: 0,
      ended: undefined,
    };
    const machine = (startsAt: number): MemoryMachine => ({
      files: CONFIG,
      services: {
        kubelet: {
          detail: 'inactive',
          get active() {
            return now < 3 || now >= startsAt;
          },
          unit: stopped,
        },
      },
      programs: journal(() => []),
    });
    const from = (second: number): void => {
      now = second;
    };
    assert.deepEqual(await watched(machine(10), 30, from), []);
    const [first, ...rest] = await watched(machine(100), 30, from);
    assert.deepEqual([first?.cause?.failure.reason, first?.cause?.isPermanent, rest], ['KubeletStopped', false, []]);
    assert.match(first?.cause?.failure.summary ?? '', /[^ .]\.$/);
    assert.ok((first?.second ?? 99) <= 16, `after ${first?.second} s`);
  });

  test('a component that exits once is a probable cause, twice a permanent one; one that recovers is none', async () => {
    let attempt = -1;
    const log = '2026-11-28T03:00:00.000000000Z stderr F Error: unknown flag: --nonsense\n';
    const machine: MemoryMachine = {
      files: { ...CONFIG, [EXITED.logPath]: log },
      services: { kubelet: { active: true, enabled: true } },
      programs: journal(() => []),
      cri: {
        exitedContainers: async () => (attempt < 0 ? [] : [{ ...EXITED, attempt, finishedAtMs: LATER }]),
      },
    };
    const reported = await watched(machine, 40, (second) => {
      if (second === 4) attempt = 0;
      if (second === 20) attempt = 1;
      if (second === 30) attempt = -1;
    });
    assert.deepEqual(
      reported.map(({ cause }) => [cause?.failure.reason, cause?.isPermanent]),
      [
        ['ComponentUnknownFlag', false],
        ['ComponentUnknownFlag', true],
        [undefined, undefined],
      ],
    );
    assert.ok((reported[0]?.second ?? 99) <= 10);
  });

  test('what may still come is reported and never permanent', async () => {
    let attempt = 0;
    const log =
      '2026-11-28T03:00:00.000000000Z stderr F F1128 03:00:00.000000 1 instance.go:1] Error creating leases: error creating storage factory: context deadline exceeded\n';
    const machine: MemoryMachine = {
      files: { ...CONFIG, [EXITED.logPath]: log },
      services: { kubelet: { active: true, enabled: true } },
      programs: journal(() => []),
      cri: { exitedContainers: async () => [{ ...EXITED, attempt, finishedAtMs: LATER }] },
    };
    const reported = await watched(machine, 60, () => {
      attempt += 1;
    });
    assert.ok(reported.every(({ cause }) => cause?.isPermanent !== true));
  });
});
