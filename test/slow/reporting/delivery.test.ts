import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, test } from 'node:test';
import type { ReportEvent } from '@machineadm/status/event.ts';
import { agent, startAgent, statusOf } from '../../support/agent.ts';
import { describeFaults } from '../../support/faults-at-once.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import {
  assertUndisturbed,
  delivered,
  deliverersEnded,
  EXIT_MS,
  flushed,
  freshMachine,
  provisionWith,
  reported,
  reports,
  waiting,
} from '../../support/sink-faults.ts';
import { waitUntil } from '../../support/wait-until.ts';

const HEAD = { apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap', metadata: { name: 'reported' } };
const RECEIVED = '/tmp/received';
const REPAIRED = '/tmp/repaired';
const SPOOL = '/var/lib/machineadm/spool';
const LOCK = '/run/machineadm/report.lock';

async function appeared(path: string): Promise<void> {
  await waitUntil(() => existsSync(path), `${path} appears`);
}

inThrowAwayMachine(import.meta.filename, () => {
  beforeEach(async () => {
    await freshMachine();
    for (const path of [RECEIVED, REPAIRED, '/tmp/hang', '/tmp/end', '/tmp/locked']) rmSync(path, { force: true });
  });

  const eventsIn = (path: string): ReportEvent[] =>
    (existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [])
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as ReportEvent);
  const events = () => eventsIn(RECEIVED);
  /** The files of a sink's events, in their order. */
  const spooled = (sink: string): string[] =>
    readdirSync(SPOOL)
      .filter((name) => new RegExp(`^${sink}~\\d{9}~`).test(name))
      .sort();
  const ids = () => events().map(({ id }) => id);
  const exec = (script: string, more: object = {}) => ({
    type: 'Exec',
    command: ['sh', '-c', script],
    timeout: '20s',
    ...more,
  });
  const TAKE = `cat >>${RECEIVED}`;

  describeFaults(
    'a program as a sink costs a run nothing, and has everything in the end, when it',
    Object.fromEntries(
      [
        ['asks for patience', 'exit 75'],
        ['hangs', 'sleep 60'],
        ['is killed', 'kill -9 $$'],
        ['is not there', 'exec /no/such/program'],
      ].map(([fault = '', script]) => [
        fault,
        async () => {
          const name = fault.replaceAll(' ', '-');
          const [received, repaired] = [`/tmp/received-${name}`, `/tmp/repaired-${name}`];
          const sink = exec(`[ -e ${repaired} ] || { ${script}; }; cat >>${received}`);
          const taken = () => eventsIn(received).map(({ id }) => id);
          return { sinks: [{ name, sink, taken }], repair: () => writeFileSync(repaired, '') };
        },
      ]),
    ),
  );

  test('a deliverer that is killed between a delivery and its record delivers the same event again, under its id', async () => {
    // The program has taken the first event and does not end: the deliverer cannot know.
    const hang = `${TAKE}; if [ ! -e ${REPAIRED} ]; then touch /tmp/hang; sleep 60; fi`;
    const { status } = await provisionWith([exec(hang, { timeout: '50s' })], { deadline: '55s' });
    await appeared('/tmp/hang');
    const pid = Number(readFileSync(LOCK, 'utf8').split(' ')[0]);
    // An empty file is a lock that was given back, and 0 would be the group of this test.
    assert.ok(pid > 1, 'a deliverer has the lock');
    writeFileSync(REPAIRED, '');
    process.kill(pid, 'SIGKILL');
    const flush = await flushed();
    assert.equal(flush.status, 0, flush.stdout + flush.stderr);
    const [first, ...rest] = ids();
    assert.equal(first, rest[0], 'the first came twice');
    assert.equal(new Set(ids()).size, 2);
    assert.deepEqual(
      events().map(({ runId, type }) => [runId, type]),
      ['started', 'started', 'concluded'].map((type) => [status.runId, type]),
    );
    assert.deepEqual(waiting(), {});
  });

  test('the deliverer of a run that takes long to end records what it delivered', async () => {
    await provisionWith([exec(`[ -e ${REPAIRED} ] || exit 75; ${TAKE}`)], { deadline: '1s' });
    await reported('Exec');
    writeFileSync(REPAIRED, '');
    // Longer than a deliverer waits while a run is active.
    const run = spawn('flock', ['/run/machineadm/lock', 'sh', '-c', 'touch /tmp/locked; sleep 6']);
    const ended = once(run, 'exit');
    await appeared('/tmp/locked');
    const flush = await flushed('--linger', '1m');
    await ended;
    assert.equal(flush.status, 0, flush.stdout + flush.stderr);
    const told = reports().map(({ sink, state, pending }) => ({ sink, state, pending }));
    assert.deepEqual(told, [{ sink: 'Exec', state: 'Delivered', pending: 0 }]);
    assert.deepEqual(readdirSync(SPOOL), [], 'the settings are gone');
  });

  test('events whose settings are lost are not reported as delivered; a document restores the settings', async () => {
    const failing = exec(`[ -e ${REPAIRED} ] || exit 75; ${TAKE}`, { name: 'Kept' });
    await provisionWith([failing]);
    await reported('Kept');
    const before = spooled('Kept');
    assert.ok(before.length > 0);
    writeFileSync('/var/lib/machineadm/spool/Kept~sink.json', '{"version":1,"plan":{"mod');
    writeFileSync(REPAIRED, '');
    const lost = await agent(['report', 'flush', '-o', 'json']);
    const [report] = JSON.parse(lost.stdout).reports;
    assert.deepEqual(
      [lost.status, report.sink, report.state, report.pending],
      [20, 'Kept', 'Unreadable', before.length],
    );
    assert.deepEqual([ids(), spooled('Kept')], [[], before]);
    const found = await agent(['report', 'flush', '-o', 'json', '-d', '/tmp/reported.yaml']);
    assert.equal(found.status, 0, found.stdout + found.stderr);
    assert.equal(JSON.parse(found.stdout).reports[0].state, 'Delivered');
    assert.equal(ids().length, before.length);
  });

  test('a damaged event is quarantined and reported as unreadable, once', async () => {
    await provisionWith([exec(`[ -e ${REPAIRED} ] || exit 75; ${TAKE}`, { name: 'Kept' })]);
    await reported('Kept');
    const [first = '', ...others] = spooled('Kept');
    const path = `/var/lib/machineadm/spool/${first}`;
    const damaged = readFileSync(path, 'utf8').replace('BootstrapEvent', 'bootstrapEvent');
    writeFileSync(path, damaged);
    writeFileSync(REPAIRED, '');
    const flush = await agent(['report', 'flush', '-o', 'json']);
    const [report] = JSON.parse(flush.stdout).reports;
    assert.deepEqual([flush.status, report.state, report.pending], [20, 'Unreadable', 0]);
    assert.match(report.message, /damaged and kept in quarantine: one event/);
    assert.equal(ids().length, others.length);
    assert.equal(readFileSync(`/var/lib/machineadm/spool/quarantine/${first}`, 'utf8'), damaged);
    const again = await agent(['report', 'flush']);
    assert.deepEqual([again.status, again.stdout], [0, 'nothing waits\n']);
  });

  test('damaged counters of a sink are reported, and the waiting events are delivered', async () => {
    await provisionWith([exec(`[ -e ${REPAIRED} ] || exit 75; ${TAKE}`, { name: 'Kept' })]);
    await reported('Kept');
    const waits = spooled('Kept').length;
    const path = '/var/lib/machineadm/spool/Kept~state.json';
    const damaged = readFileSync(path, 'utf8').replace('"lost":', '"lOst":');
    writeFileSync(path, damaged);
    writeFileSync(REPAIRED, '');
    const flush = await agent(['report', 'flush', '-o', 'json']);
    const [report] = JSON.parse(flush.stdout).reports;
    assert.deepEqual([flush.status, report.state, report.pending, ids().length], [20, 'Unreadable', 0, waits]);
    assert.match(report.message, /damaged: more may have been lost/);
    assert.equal(readFileSync('/var/lib/machineadm/spool/quarantine/Kept~state.json', 'utf8'), damaged);
  });

  test('a run for an image sends nothing to remote sinks and leaves no spool', async () => {
    await provisionWith([exec(TAKE)]);
    await reported('Exec');
    await freshMachine();
    rmSync(RECEIVED);
    const prepare = await agent(['prepare', '-d', '/tmp/reported.yaml', '-o', 'json']);
    assert.equal(prepare.status, 0, prepare.stderr);
    await deliverersEnded();
    assert.deepEqual([ids(), existsSync('/var/lib/machineadm/spool')], [[], false]);
  });

  test('a sink from the command line receives the events as well', async () => {
    await provisionWith([]);
    await freshMachine();
    const run = await agent([
      'provision',
      '-d',
      '/tmp/reported.yaml',
      '--sink',
      JSON.stringify(exec(TAKE, { name: 'added' })),
    ]);
    assert.equal(run.status, 0, run.stderr);
    assert.equal((await delivered('added')).state, 'Delivered');
    assert.deepEqual(
      events().map(({ type }) => type),
      ['started', 'concluded'],
    );
    const status = await agent(['status']);
    assert.match(status.stdout, /reported to added \(sh\): delivered\n/);
  });

  test('a failed run is reported with its reason, and fails as it would without reporting', async () => {
    const failing = { hooks: { early: { commands: ['exit 3'] } } };
    const { run, exitMs } = await provisionWith([exec(TAKE)], { host: failing });
    assert.equal(run.status, 10);
    assert.ok(exitMs < EXIT_MS, `the agent ended ${exitMs} ms after its conclusion`);
    await reported('Exec');
    const last = events().at(-1);
    assert.deepEqual([last?.outcome, last?.exitCode, last?.failure?.reason], ['Failed', 10, 'HookFailed']);
  });

  describe('report test', () => {
    test('sends each sink a marked event, and prints the result for each', async () => {
      await provisionWith([]);
      const bad = exec('echo no thanks >&2; exit 1', { name: 'bad' });
      const run = await agent([
        'report',
        'test',
        '-d',
        '/tmp/reported.yaml',
        '-o',
        'json',
        ...[exec(TAKE), bad].flatMap((sink) => ['--sink', JSON.stringify(sink)]),
      ]);
      assert.equal(run.status, 20, run.stderr);
      const { sinks }: { sinks: { sink: string; result: string; message?: string }[] } = JSON.parse(run.stdout);
      assert.deepEqual(
        sinks.map(({ sink, result, message }) => [sink, result, message]),
        [
          ['Exec', 'Taken', undefined],
          ['bad', 'Refused', 'status 1: no thanks'],
        ],
      );
      assert.deepEqual(
        events().map(({ test, machine }) => [test, machine.name]),
        [[true, 'reported']],
      );
      assert.deepEqual(waiting(), {});
    });
  });

  describe('status --wait', () => {
    const wait = (timeout: string) => agent(['status', '--wait', '--timeout', timeout, '-o', 'json']);

    test("ends with the run's own exit code", async () => {
      assertUndisturbed(await provisionWith([]));
      const good = await wait('5s');
      assert.deepEqual([good.status, statusOf(good).outcome], [0, 'Succeeded']);
      await provisionWith([], { host: { hooks: { early: { commands: ['exit 3'] } } } });
      const bad = await wait('5s');
      assert.deepEqual([bad.status, statusOf(bad).failure?.reason], [10, 'HookFailed']);
    });

    test('ends with 14 at once when the run was killed, whatever time there was', async () => {
      const path = '/tmp/killed.yaml';
      const early = { commands: ['until [ -e /tmp/end ]; do sleep 0.1; done'] };
      writeFileSync(path, JSON.stringify({ ...HEAD, host: { hooks: { early } } }));
      const run = startAgent(['provision', '-d', path]);
      await appeared('/run/machineadm/status.json');
      run.kill('SIGKILL');
      await run.ended;
      const waited = await wait('10m');
      assert.deepEqual([waited.status, statusOf(waited).outcome], [14, 'Interrupted']);
      writeFileSync('/tmp/end', '');
    });

    test('ends with 13 when there was no run in time, and says so', async () => {
      const run = await wait('300ms');
      assert.equal(run.status, 13);
      assert.equal(JSON.parse(run.stdout).error.reason, 'DeadlinePassed');
    });

    test('ends with 13 and the status so far when the run did not end in time', async () => {
      const untilToldSo = 'until [ -e /tmp/end ]; do sleep 0.1; done';
      const running = provisionWith([], { host: { hooks: { early: { commands: [untilToldSo] } } } });
      await appeared('/run/machineadm/status.json');
      const run = await wait('500ms');
      assert.deepEqual([run.status, statusOf(run).outcome], [13, undefined]);
      writeFileSync('/tmp/end', '');
      await running;
    });
  });
});
