import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { formatStatus } from '@machineadm/status/progress.ts';
import type { RunEvent, RunStatus } from '@machineadm/status/status.ts';
import type { NewFile } from '../../../src/host/seam/host.ts';
import { openReporter, type Reporter } from '../../../src/reporting/reporter.ts';
import type { Sink } from '../../../src/reporting/sink.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { type MemoryHost, memoryHost } from '../../support/memory-host.ts';
import { FAILURE, IDENTITY } from './runs.ts';

const CURRENT = '/run/machineadm/status.json';
const COPY = '/var/lib/machineadm/status.json';
const SUMMARY = '/run/machineadm/summary.json';
const SUMMARY_COPY = '/var/lib/machineadm/summary.json';

function recording(overrides: Partial<Sink> = {}): Sink & { readonly events: RunEvent[] } {
  const events: RunEvent[] = [];
  return {
    name: 'Recording',
    events,
    open: async () => {},
    deliver: async (event) => {
      events.push(event);
    },
    close: async () => {},
    ...overrides,
  };
}

function parsed(text: string | undefined): RunStatus {
  return JSON.parse(text ?? 'null');
}

async function run(reporter: Reporter): Promise<void> {
  reporter.phase('Host');
  reporter.stepStarted('sysctl');
  reporter.waitingFor('sysctl', 'the kernel');
  reporter.stepDone('sysctl', { state: 'Succeeded', changes: ['sysctl/a'], durationMs: 5 });
  await reporter.conclude({ outcome: 'Succeeded', exitCode: 0 });
}

test('a probable cause is in the status and a warning for every sink, until the step ends', async () => {
  const host = memoryHost();
  const events: RunEvent[] = [];
  const reporter = await openReporter({ identity: IDENTITY, host, onEvent: (event) => void events.push(event) });
  const cause = {
    ...{ reason: 'KubeletUnknownFlag', summary: 'A flag is unknown.', remedy: 'Remove it.' },
    evidence: [{ source: 'journal of kubelet', text: 'unknown flag: --x' }],
  };
  reporter.stepStarted('kubeadm');
  reporter.waitingFor('kubeadm', 'the bootstrapper, probably in vain', cause);
  const last = events.at(-1);
  assert.equal(last?.kind === 'warning' && last.message, 'waiting for the bootstrapper, probably in vain');
  const { since = '', ...seen } = reporter.status.probableCause ?? {};
  assert.deepEqual(seen, cause);
  assert.ok(!Number.isNaN(Date.parse(since)));
  assert.match(
    formatStatus(reporter.status),
    /probable cause \(KubeletUnknownFlag, since \S+\): A flag is unknown\.\n {4}journal of kubelet: unknown flag: --x\n {4}Remove it\./,
  );
  assert.deepEqual(reporter.status.warnings, []);
  reporter.stepDone('kubeadm', { state: 'Failed', changes: [], durationMs: 5 });
  assert.equal('probableCause' in reporter.status, false);
});

describe('the status file', () => {
  const modeOf = async (host: MemoryHost, path: string) => {
    const { mode = 0, uid, gid } = (await host.stat(path)) ?? {};
    return `${mode.toString(8)} ${uid}:${gid}`;
  };
  const GROUPS = 'root:x:0:\nmachineadm:x:998:alice\n';

  test('exists and is correct before the document is read: for root, and its summary for all', async () => {
    const host = memoryHost();
    await openReporter({ identity: IDENTITY, host });
    assert.equal(parsed(host.text(CURRENT)).phase, 'Loading');
    for (const [status, summary] of [
      [CURRENT, SUMMARY],
      [COPY, SUMMARY_COPY],
    ] as const) {
      assert.equal(await modeOf(host, status), '640 0:0');
      assert.equal(await modeOf(host, summary), '644 0:0');
    }
    assert.equal((await host.stat('/run/machineadm'))?.mode, 0o755);
    assert.equal(host.text(COPY), host.text(CURRENT));
    assert.equal(host.text(SUMMARY_COPY), host.text(SUMMARY));
  });

  for (const file of ['/etc/group', '/usr/lib/group']) {
    test(`belongs to the group machineadm that ${file} has`, async () => {
      const host = memoryHost({ files: { '/etc/group': 'root:x:0:\n', [file]: GROUPS } });
      await openReporter({ identity: IDENTITY, host });
      assert.deepEqual(await Promise.all([CURRENT, COPY, SUMMARY].map((path) => modeOf(host, path))), [
        '640 0:998',
        '640 0:998',
        '644 0:0',
      ]);
    });
  }

  test('belongs to a group that only a directory service knows as little as to none', async () => {
    const host = memoryHost({ groups: { machineadm: 5000 } });
    await openReporter({ identity: IDENTITY, host });
    assert.equal(await modeOf(host, CURRENT), '640 0:0');
    assert.deepEqual(host.queries, []);
  });

  test('follows a group that a step of the run makes', async () => {
    const host = memoryHost({ files: { '/etc/group': 'root:x:0:\n' } });
    const reporter = await openReporter({ identity: IDENTITY, host });
    host.put('/etc/group', GROUPS);
    await reporter.conclude({ outcome: 'Succeeded', exitCode: 0 });
    assert.equal(await modeOf(host, CURRENT), '640 0:998');
  });

  test('is written for root where the kernel refuses the group', async () => {
    const host = memoryHost({ files: { '/etc/group': GROUPS } });
    const writeFile = (file: NewFile) =>
      file.gid === 998 ? Promise.reject(new Error('EINVAL')) : host.writeFile(file);
    const reporter = await openReporter({ identity: IDENTITY, host: { ...host, writeFile } });
    await reporter.conclude({ outcome: 'Succeeded', exitCode: 0 });
    assert.equal(parsed(host.text(CURRENT)).phase, 'Concluded');
    assert.equal(await modeOf(host, CURRENT), '640 0:0');
    assert.deepEqual(reporter.status.warnings, []);
  });

  test('of an earlier version, which was for all, is closed with the first write', async () => {
    const host = memoryHost({ files: { [CURRENT]: '{}', [COPY]: '{}' } });
    assert.equal(await modeOf(host, COPY), '644 0:0');
    await openReporter({ identity: IDENTITY, host });
    assert.deepEqual(await Promise.all([CURRENT, COPY].map((path) => modeOf(host, path))), ['640 0:0', '640 0:0']);
  });

  test('comes before its summary at each write, so that a summary never says more', async () => {
    const host = memoryHost();
    const written: string[] = [];
    const writeFile = async (file: NewFile) => {
      written.push(`${file.path} ${parsed(String(file.content)).phase}`);
      await host.writeFile(file);
    };
    const reporter = await openReporter({ identity: IDENTITY, host: { ...host, writeFile } });
    await reporter.conclude({ outcome: 'Succeeded', exitCode: 0 });
    const order = [CURRENT, SUMMARY, COPY, SUMMARY_COPY];
    assert.deepEqual(
      written,
      ['Loading', 'Concluded'].flatMap((phase) => order.map((path) => `${path} ${phase}`)),
    );
  });

  test('that cannot be written leaves its summary as it was', async () => {
    const host = memoryHost();
    let isFull = false;
    const writeFile = (file: NewFile) =>
      isFull && file.path === CURRENT ? Promise.reject(new Error('no space left')) : host.writeFile(file);
    const reporter = await openReporter({ identity: IDENTITY, host: { ...host, writeFile } });
    isFull = true;
    await reporter.conclude({ outcome: 'Succeeded', exitCode: 0 });
    assert.equal(parsed(host.text(SUMMARY)).phase, 'Loading');
    assert.equal(parsed(host.text(SUMMARY_COPY)).phase, 'Concluded');
  });

  test('has the conclusion when `conclude` resolves, and its copy is flushed to disk', async () => {
    const host = memoryHost();
    const reporter = await openReporter({ identity: IDENTITY, host });
    await reporter.conclude({ outcome: 'Failed', exitCode: 11, failure: FAILURE });
    const status = parsed(host.text(CURRENT));
    assert.equal(status.phase, 'Concluded');
    assert.equal(status.failure?.reason, 'SwapEnabled');
    assert.deepEqual(host.log.slice(-2), [`sync ${COPY}`, `sync ${SUMMARY_COPY}`]);
  });

  test('follows a run that is faster than the disk: the newest status wins, and nothing waits', async () => {
    using clock = fakeClock({ deadlines: true });
    const host = memoryHost();
    const written: string[] = [];
    const slow = {
      ...host,
      writeFile: async (file: NewFile) => {
        await clock.pass(20);
        if (file.path.endsWith('status.json')) written.push(parsed(String(file.content)).phase);
      },
    };
    const reporter = await openReporter({ identity: IDENTITY, host: slow });
    const before = written.length;
    for (let index = 0; index < 50; index += 1) reporter.phase('Host');
    assert.equal(written.length, before, 'the run does not wait for the disk');
    await clock.until(reporter.conclude({ outcome: 'Succeeded', exitCode: 0 }));
    assert.equal(written.at(-1), 'Concluded');
    assert.ok(written.length <= 8, `${written.length} writes`);
  });

  test('is written at once for a proof, for the run may be killed; steps may wait a moment', async () => {
    using clock = fakeClock({ deadlines: true });
    const host = memoryHost();
    const reporter = await openReporter({ identity: IDENTITY, host });
    reporter.phase('Host');
    await clock.pass(1);
    assert.equal(parsed(host.text(CURRENT)).phase, 'Host');
    reporter.stepStarted('sysctl');
    reporter.stepDone('sysctl', { state: 'Succeeded', changes: ['sysctl/a'], durationMs: 5 });
    await clock.pass(1);
    assert.deepEqual(parsed(host.text(CURRENT)).steps, [], 'a step waits');
    reporter.phase('Kubernetes');
    await clock.pass(1);
    const { phase, steps } = parsed(host.text(CURRENT));
    assert.deepEqual([phase, steps.map(({ id }) => id)], ['Kubernetes', ['sysctl']]);
    await reporter.conclude({ outcome: 'Succeeded', exitCode: 0 });
  });

  test('that cannot be written is reported through the sinks, and fails nothing', async () => {
    const host = memoryHost();
    const broken = {
      ...host,
      writeFile: (file: NewFile) =>
        file.path === CURRENT ? Promise.reject(new Error('no space left on device')) : host.writeFile(file),
    };
    const sink = recording();
    const reporter = await openReporter({ identity: IDENTITY, host: broken });
    reporter.useSinks([sink], 1000);
    await run(reporter);
    await reporter.close();
    const warning = `the status file ${CURRENT} could not be written: no space left on device`;
    assert.deepEqual(sink.events.at(-1)?.status.warnings, [warning]);
    assert.deepEqual(parsed(host.text(COPY)).warnings, [warning]);
  });

  test('never holds a secret', async () => {
    const secret = new Secret('s3cr3t-value-of-a-hook');
    const host = memoryHost();
    const sink = recording();
    const reporter = await openReporter({ identity: IDENTITY, host });
    reporter.useSinks([sink], 1000);
    reporter.warn(`it said ${secret.reveal()}`);
    reporter.waitingFor('hook', secret.reveal());
    await reporter.conclude({
      outcome: 'Failed',
      exitCode: 10,
      failure: { ...FAILURE, evidence: [{ source: 'hook', text: secret.reveal() }] },
    });
    await reporter.close();
    for (const text of [host.text(CURRENT), host.text(COPY), JSON.stringify(sink.events)]) {
      assert.ok(text !== undefined && !text.includes(secret.reveal()));
    }
  });
});

describe('a sink', () => {
  test('receives everything, in order, from the start', async () => {
    const sink = recording();
    const reporter = await openReporter({ identity: IDENTITY, host: memoryHost() });
    reporter.useSinks([sink], 1000);
    await run(reporter);
    await reporter.close();
    assert.deepEqual(
      sink.events.map((event) => (event.kind === 'step' ? `step ${event.step.state}` : event.kind)),
      ['started', 'step Running', 'waiting', 'step Succeeded', 'concluded'],
    );
  });

  test('that hangs delays no step, and the end by no more than its deadline', async ({ mock: { timers } }) => {
    const hangs = recording({ name: 'Hangs', deliver: () => new Promise(() => {}) });
    const other = recording();
    const reporter = await openReporter({ identity: IDENTITY, host: memoryHost(), deliveryMs: 10_000 });
    // No time passes but what the test lets pass: a run that waited for the sink would not end.
    timers.enable({ apis: ['setTimeout'] });
    reporter.useSinks([hangs, other], 150);
    await run(reporter);
    let passedMs = 0;
    let isClosed = false;
    const closing = reporter.close().then(() => {
      isClosed = true;
    });
    for (; !isClosed && passedMs < 10_000; passedMs += 10) {
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      if (!isClosed) timers.tick(10);
    }
    await closing;
    assert.ok(passedMs >= 150 && passedMs <= 600, `${passedMs} ms passed`);
    assert.deepEqual(reporter.status.warnings, [
      'sink Hangs could not be closed: did not end within 150 ms, 4 events were lost',
    ]);
    assert.equal(other.events.filter((event) => event.kind === 'concluded').length, 1);
  });

  test('that cannot be opened is a warning to the others, once', async () => {
    const closed = recording({ name: 'Closed', open: () => Promise.reject(new Error('no such device')) });
    const other = recording();
    const reporter = await openReporter({ identity: IDENTITY, host: memoryHost() });
    reporter.useSinks([closed, other], 1000);
    await run(reporter);
    await reporter.close();
    assert.deepEqual(closed.events, []);
    assert.deepEqual(
      other.events.filter((event) => event.kind === 'warning').map((event) => event.message),
      ['sink Closed cannot be used: no such device'],
    );
  });

  test('that throws, even at once, changes neither outcome nor exit code', async () => {
    const throws = recording({
      deliver: () => {
        throw new Error('broken');
      },
    });
    const reporter = await openReporter({ identity: IDENTITY, host: memoryHost() });
    reporter.useSinks([throws], 1000);
    await run(reporter);
    await reporter.close();
    assert.equal(reporter.status.outcome, 'Succeeded');
    assert.equal(reporter.status.exitCode, 0);
    assert.deepEqual(reporter.status.warnings, ['sink Recording did not take a report: broken']);
  });

  test('that fails repeatedly gets no more progress, but still the conclusion', async () => {
    const tried: string[] = [];
    const fails = recording({
      deliver: (event) => {
        tried.push(event.kind);
        return Promise.reject(new Error('unreachable'));
      },
    });
    const reporter = await openReporter({ identity: IDENTITY, host: memoryHost() });
    reporter.useSinks([fails], 1000);
    for (let index = 0; index < 20; index += 1) reporter.waitingFor('kubeadm', `try ${index}`);
    await reporter.conclude({ outcome: 'Succeeded', exitCode: 0 });
    await reporter.close();
    assert.deepEqual(tried, ['started', 'waiting', 'waiting', 'concluded']);
  });

  test('that fell far behind loses progress, but neither warnings nor the conclusion', async () => {
    const gate = Promise.withResolvers<void>();
    const sink = recording({ open: () => gate.promise });
    const reporter = await openReporter({ identity: IDENTITY, host: memoryHost() });
    reporter.useSinks([sink], 1000);
    reporter.warn('look here');
    for (let index = 0; index < 500; index += 1) reporter.waitingFor('kubeadm', `try ${index}`);
    await reporter.conclude({ outcome: 'Succeeded', exitCode: 0 });
    gate.resolve();
    await reporter.close();
    const kinds = sink.events.map((event) => event.kind);
    assert.ok(kinds.length <= 201, `${kinds.length} events`);
    assert.ok(kinds.includes('warning'));
    assert.equal(kinds.at(-1), 'concluded');
  });
});

test('whoever watches the progress cannot end the run', async () => {
  const reporter = await openReporter({
    identity: IDENTITY,
    host: memoryHost(),
    onEvent: () => {
      throw new Error('EPIPE');
    },
  });
  await run(reporter);
  assert.equal(reporter.status.outcome, 'Succeeded');
});

describe('the terminal output of a run whose stderr is the journal', () => {
  const shownOf = async (sink: Sink | undefined, shownInJournal = true) => {
    const shown: string[] = [];
    const onShown = ({ kind }: RunEvent) => shown.push(kind);
    const reporter = await openReporter({ identity: IDENTITY, host: memoryHost(), onShown, shownInJournal });
    if (sink !== undefined) reporter.useSinks([sink], 1_000);
    await run(reporter);
    await reporter.close();
    return shown;
  };
  const ALL = ['started', 'step', 'waiting', 'step', 'concluded'];

  test('has nothing that the Journal sink takes', async () => {
    const journal = recording({ name: 'Journal' });
    assert.deepEqual(await shownOf(journal), []);
    assert.deepEqual(
      journal.events.map(({ kind }) => kind),
      ALL,
    );
  });

  test('has everything with another sink, or none, and outside of the journal', async () => {
    assert.deepEqual(await shownOf(recording()), ALL);
    assert.deepEqual(await shownOf(undefined), ALL);
    assert.deepEqual(await shownOf(recording({ name: 'Journal' }), false), ALL);
  });

  test('has what the Journal sink could not take, and why', async () => {
    const open = () => Promise.reject(new Error('no logger'));
    assert.deepEqual((await shownOf(recording({ name: 'Journal', open }))).toSorted(), [...ALL, 'warning'].toSorted());
    const deliver = () => Promise.reject(new Error('no logger'));
    assert.deepEqual(
      (await shownOf(recording({ name: 'Journal', deliver }))).toSorted(),
      [...ALL, 'warning'].toSorted(),
    );
  });
});
