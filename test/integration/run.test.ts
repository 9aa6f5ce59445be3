import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import type { Condition, RunStatus } from '@machineadm/status/status.ts';
import { stringify } from 'yaml';
import { openQueryHost } from '../../src/host/index.ts';
import { dropKeptDirectories } from '../../src/host/linux/directories.ts';
import { openJournal, peekJournal } from '../../src/pipeline/run-journal.ts';
import { parseStatus } from '../../src/reporting/parse-status.ts';
import { type Agent, type AgentRun, agent, startAgent, statusOf } from '../support/agent.ts';
import { inThrowAwayMachine } from '../support/namespace.ts';
import { waitUntil } from '../support/wait-until.ts';

const STATE = '/var/lib/machineadm';
const RUN = '/run/machineadm';
const DOCUMENT = '/tmp/document.yaml';
const PROVISION = ['provision', '-d', DOCUMENT, '-o', 'json'] as const;

function lay(host: object): void {
  const document = { metadata: { name: 'throw-away' }, host, reporting: { sinks: [] } };
  const header = { apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap' };
  writeFileSync(DOCUMENT, stringify({ ...header, ...document }), { mode: 0o600 });
}

function shell(script: string): string {
  const { status, stdout, stderr } = spawnSync('sh', ['-ec', script], { encoding: 'utf8' });
  assert.equal(status, 0, `${script}: ${stderr}`);
  return stdout;
}

function storedStatus(path = `${RUN}/status.json`): RunStatus {
  return parseStatus(readFileSync(path, 'utf8'), path);
}

function bootstrapCondition(status: RunStatus): Condition | undefined {
  return status.conditions.find(({ type }) => type === 'machineadm.dev/BootstrapSucceeded');
}

/** Asserts how a run ended, that both status files say so, and that it was told in one message. */
function assertEnded(run: AgentRun, exitCode: number, reason: Reason | undefined): RunStatus {
  const status = statusOf(run);
  assert.deepEqual([run.status, run.signal, status.failure?.reason], [exitCode, null, reason], run.stderr);
  assert.equal(status.exitCode, exitCode);
  assert.equal(status.phase, 'Concluded');
  assert.deepEqual(storedStatus(), status);
  if (reason !== undefined) assert.equal(run.stderr.split('What to do:').length, 2, run.stderr);
  return status;
}

/** Names below /etc, /run and the state directory that a write left half-done. */
function halfDone(): string[] {
  return shell(
    `find /etc ${STATE} ${RUN} -xdev -name '*machineadm-new' -o -xdev -name 'journal.new' 2>/dev/null || true`,
  )
    .split('\n')
    .filter((line) => line !== '');
}

inThrowAwayMachine(import.meta.filename, () => {
  beforeEach(() => {
    for (const path of [STATE, RUN, '/tmp/trace', '/tmp/go', '/tmp/blocked', '/etc/machineadm-test']) {
      rmSync(path, { recursive: true, force: true });
    }
  });

  const trace = () => (existsSync('/tmp/trace') ? readFileSync('/tmp/trace', 'utf8').split('\n').slice(0, -1) : []);
  /** A hook that says that it began, and ends when the test lets it. */
  const slow = (name: string) => `echo ${name} >>/tmp/trace; while [ ! -e /tmp/go ]; do sleep 0.05; done`;
  const WRITES_FILE = { files: [{ path: '/etc/machineadm-test/file', content: 'whole\n' }] };

  describe('a second run while another is active', () => {
    test('is refused as Locked, names the process, and leaves the status of the running one', async () => {
      lay({ hooks: { early: { commands: [slow('one')] } } });
      const first = startAgent(PROVISION);
      await waitUntil(() => trace().length === 1, 'the hook runs');
      // The status is written beside the run, the copy last: equal files that name the step are what it has to say.
      await waitUntil(() => {
        const [current, copy] = [RUN, STATE].map((directory) => readFileSync(`${directory}/status.json`, 'utf8'));
        const { steps, waitingFor } = storedStatus();
        // What it waits for is the last that it writes before the hook ends.
        const isLast =
          steps.some(({ id, state }) => id === 'hooks-early' && state === 'Running') && waitingFor !== undefined;
        return current === copy && isLast;
      }, 'the status says so');
      const before = readFileSync(`${RUN}/status.json`, 'utf8');
      const second = await agent(PROVISION);
      assert.equal(second.status, 4, second.stderr);
      const { error } = JSON.parse(second.stdout);
      assert.equal(error.reason, 'Locked');
      assert.match(error.summary, new RegExp(`process ${first.pid} holds`));
      assert.equal(readFileSync(`${RUN}/status.json`, 'utf8'), before);
      const told = await agent(['status', '-o', 'json']);
      assert.equal(statusOf(told).phase, 'Host');
      writeFileSync('/tmp/go', '');
      assert.equal(assertEnded(await first.ended, 0, undefined).outcome, 'Succeeded');
      assert.deepEqual(trace(), ['one']);
    });

    test('of any kind: prepare is refused, plan and validate are not', async () => {
      lay({ hooks: { early: { commands: [slow('one')] } } });
      const first = startAgent(PROVISION);
      await waitUntil(() => trace().length === 1, 'the hook runs');
      assert.equal((await agent(['prepare', '-d', DOCUMENT])).status, 4);
      assert.equal((await agent(['plan', '-d', DOCUMENT])).status, 0);
      assert.equal((await agent(['validate', '-d', DOCUMENT])).status, 0);
      writeFileSync('/tmp/go', '');
      assert.equal((await first.ended).status, 0);
    });
  });

  describe('a signal', () => {
    /** Runs until `reached`, sends the signal, and gives how it ended and which children it left. */
    async function stopped(signal: NodeJS.Signals, reached: (run: Agent) => boolean): Promise<AgentRun> {
      const run = startAgent(PROVISION);
      run.stdin.end();
      await waitUntil(() => reached(run), 'the moment to stop');
      run.kill(signal);
      return run.ended;
    }
    const childrenLeft = () =>
      readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .filter((pid) => {
          try {
            return readFileSync(`/proc/${pid}/environ`, 'utf8').includes('MACHINEADM_');
          } catch {
            return false; // gone, or a zombie
          }
        });

    const hooks = {
      early: { commands: ['echo early-1 >>/tmp/trace', slow('early-2')] },
      afterBootstrap: { commands: ['echo after-1 >>/tmp/trace', slow('after-2')] },
    };

    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      test(`${signal} in a hook before the bootstrap: exit 14, Interrupted, and the next run resumes`, async () => {
        lay({ hooks, ...WRITES_FILE });
        const status = assertEnded(await stopped(signal, () => trace().length === 2), 14, 'Interrupted');
        assert.deepEqual([status.outcome, bootstrapCondition(status)?.status], ['Interrupted', 'Unknown']);
        assert.deepEqual(
          status.steps.filter(({ state }) => state !== 'Skipped').map(({ id, state }) => `${id} ${state}`),
          ['hooks-early Failed'],
        );
        assert.ok(status.steps.some(({ id }) => id === 'files') && status.steps.at(-1)?.id === 'hooks-after-bootstrap');
        assert.match(status.failure?.summary ?? '', /early hooks/);
        assert.equal(status.failure?.step, 'hooks-early');
        assert.deepEqual(childrenLeft(), []);
        assert.deepEqual(halfDone(), []);
        writeFileSync('/tmp/go', '');
        const second = assertEnded(await agent(PROVISION), 0, undefined);
        assert.deepEqual([second.attempt, bootstrapCondition(second)?.status], [2, 'True']);
        assert.deepEqual(trace(), ['early-1', 'early-2', 'early-2', 'after-1', 'after-2']);
      });
    }

    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      test(`${signal} in a hook after the bootstrap leaves it succeeded, and the next run resumes the hook`, async () => {
        lay({ hooks: { afterBootstrap: hooks.afterBootstrap } });
        const status = assertEnded(await stopped(signal, () => trace().length === 2), 14, 'Interrupted');
        assert.equal(status.outcome, 'Interrupted');
        assert.deepEqual(
          status.conditions.map((condition) => condition.status),
          ['True', 'Unknown'],
        );
        assert.deepEqual(childrenLeft(), []);
        writeFileSync('/tmp/go', '');
        const second = assertEnded(await agent(PROVISION), 0, undefined);
        assert.deepEqual(
          second.conditions.map((condition) => condition.status),
          ['True', 'True'],
        );
        assert.deepEqual(trace(), ['after-1', 'after-2', 'after-2']);
      });

      test(`${signal} before the document is read: exit 14, and nothing was started`, async () => {
        const run = startAgent(['provision', '-d', '-', '-o', 'json']);
        await waitUntil(
          () => existsSync(`${RUN}/lock`) && readFileSync(`${RUN}/lock`, 'utf8') !== '',
          'it holds the lock',
        );
        await sleep(300); // it may be between the lock and the reading; either way it must end
        run.kill(signal);
        assertEnded(await run.ended, 14, 'Interrupted');
        assert.equal(existsSync(`${STATE}/journal`), false);
      });
    }

    test('to a hook that ignores it ends the run and the hook all the same', async () => {
      lay({ hooks: { early: { commands: [`trap '' TERM INT HUP; ${slow('deaf')}`] } } });
      // The hook itself would wait for ever.
      assertEnded(await stopped('SIGTERM', () => trace().length === 1), 14, 'Interrupted');
      assert.deepEqual(childrenLeft(), []);
    });

    test('that kills the run: the status reports it, and the next run ends the orphan and resumes', async () => {
      lay({ hooks });
      const killed = await stopped('SIGKILL', () => trace().length === 2);
      assert.equal(killed.signal, 'SIGKILL');
      const told = statusOf(await agent(['status', '--wait', '-o', 'json']));
      assert.deepEqual([told.outcome, told.exitCode, told.failure?.reason], ['Interrupted', 14, 'Interrupted']);
      assert.equal(childrenLeft().length > 0, true, 'the hook outlived the run');
      const second = startAgent(PROVISION);
      second.stdin.end();
      await waitUntil(() => trace().length === 3, 'the entry runs again');
      writeFileSync('/tmp/go', '');
      const status = assertEnded(await second.ended, 0, undefined);
      assert.ok(status.warnings.some((warning) => /killed; it is resumed/.test(warning)));
      assert.deepEqual(trace(), ['early-1', 'early-2', 'early-2', 'after-1', 'after-2']);
      assert.deepEqual(childrenLeft(), []);
    });

    test('that kills the run in a hook after the bootstrap leaves the machine bootstrapped', async () => {
      lay({ hooks: { afterBootstrap: hooks.afterBootstrap } });
      await stopped('SIGKILL', () => trace().length === 2);
      const told = statusOf(await agent(['status', '-o', 'json']));
      assert.deepEqual([told.outcome, bootstrapCondition(told)?.status], ['Interrupted', 'True']);
    });
  });

  describe('a run on a machine that was provisioned', () => {
    const provisioned = async () => {
      lay(WRITES_FILE);
      assertEnded(await agent(PROVISION), 0, undefined);
    };

    test('that fails says so, and reports the bootstrap as succeeded', async () => {
      await provisioned();
      lay({ ...WRITES_FILE, sysctl: { 'net.ipv4.ip_default_ttl': 'none' } });
      const status = assertEnded(await agent(PROVISION), 10, 'SysctlInvalidValue');
      assert.equal(status.outcome, 'Failed');
      assert.equal(bootstrapCondition(status)?.status, 'True');
      assert.match(bootstrapCondition(status)?.message ?? '', /A later run failed: SysctlInvalidValue: /);
    });

    test('that is refused for what it would later fail on changes nothing, and names the cause with its place', async () => {
      await provisioned();
      const before = readFileSync(`${RUN}/status.json`, 'utf8');
      const files = [...WRITES_FILE.files, { path: '/tmp/never-written', content: 'x' }];
      lay({ ...WRITES_FILE, files, sysctl: { 'net.ipv4.no_such_key': 1 } });
      const refused = await agent(PROVISION);
      assert.equal(refused.status, 4);
      const { error } = JSON.parse(refused.stdout);
      assert.equal(error.reason, 'SysctlUnknown');
      assert.match(JSON.stringify(error.evidence), /document\.yaml:\d+:\d+/);
      assert.deepEqual([existsSync('/tmp/never-written'), readFileSync(`${RUN}/status.json`, 'utf8')], [false, before]);
    });

    test('that is refused leaves the status of the previous run', async () => {
      await provisioned();
      const before = readFileSync(`${RUN}/status.json`, 'utf8');
      writeFileSync(DOCUMENT, 'apiVersion: machineadm.dev/v1alpha1\nkind: Nonsense\n');
      const refused = await agent(PROVISION);
      assert.equal(refused.status, 3);
      assert.equal(JSON.parse(refused.stdout).error.reason, 'DocumentInvalid');
      assert.equal(readFileSync(`${RUN}/status.json`, 'utf8'), before);
    });

    test('as a copy with another machine-id reports a bad document as a failure of the copy', async () => {
      const own = existsSync('/etc/machine-id') ? readFileSync('/etc/machine-id', 'utf8') : '';
      try {
        writeFileSync('/etc/machine-id', `${'b'.repeat(32)}\n`);
        await provisioned();
        rmSync(RUN, { recursive: true });
        writeFileSync('/etc/machine-id', `${'c'.repeat(32)}\n`);
        writeFileSync(DOCUMENT, 'apiVersion: machineadm.dev/v1alpha1\nkind: Nonsense\n');
        const status = assertEnded(await agent(PROVISION), 3, 'DocumentInvalid');
        assert.equal(bootstrapCondition(status)?.status, 'False');
      } finally {
        writeFileSync('/etc/machine-id', own);
      }
    });

    test('reports no bootstrap when it is prepare', async () => {
      lay(WRITES_FILE);
      const status = assertEnded(await agent(['prepare', '-d', DOCUMENT, '-o', 'json']), 0, undefined);
      assert.deepEqual(
        [bootstrapCondition(status)?.status, bootstrapCondition(status)?.reason],
        ['Unknown', 'Prepared'],
      );
    });
  });

  describe('a file system that cannot be written', () => {
    const mounted: string[] = [];
    const mount = (path: string, options: string) => {
      mkdirSync(path, { recursive: true });
      shell(`mount -t tmpfs -o mode=755,${options} none ${path}`);
      mounted.push(path);
    };
    const readOnly = (path: string) => {
      shell(`mount --bind ${path} ${path}; mount -o remount,bind,ro ${path}`);
      mounted.push(path);
    };
    // What has just ended may hold a file there for a moment longer.
    const unmount = (path: string) =>
      shell(`for try in 1 2 3 4 5 6 7 8 9; do umount ${path} && exit 0; sleep 1; done; umount ${path}`);
    afterEach(() => {
      for (const path of mounted.splice(0).reverse()) unmount(path);
    });

    test('/run: refused with one message, nothing started', async () => {
      lay(WRITES_FILE);
      readOnly('/run');
      const run = await agent(PROVISION);
      assert.equal(run.status, 4, run.stderr);
      const { error } = JSON.parse(run.stdout);
      assert.equal(error.reason, 'ReadOnlyFilesystem');
      assert.match(error.summary, /\/run\/machineadm.* read-only/);
      assert.equal(existsSync(STATE), false);
      assert.equal(existsSync('/etc/machineadm-test'), false);
    });

    test('/var/lib/machineadm: refused with one message, nothing changed, the status says so', async () => {
      lay(WRITES_FILE);
      mkdirSync(STATE);
      readOnly(STATE);
      const status = assertEnded(await agent(PROVISION), 4, 'ReadOnlyFilesystem');
      assert.match(status.failure?.summary ?? '', /\/var\/lib\/machineadm\/journal .* read-only/);
      assert.deepEqual(status.steps, []);
      assert.equal(existsSync('/etc/machineadm-test'), false);
    });

    test('/var/lib/machineadm of a provisioned machine: refused likewise', async () => {
      lay(WRITES_FILE);
      assertEnded(await agent(PROVISION), 0, undefined);
      readOnly(STATE);
      const status = assertEnded(await agent(PROVISION), 4, 'ReadOnlyFilesystem');
      assert.equal(bootstrapCondition(status)?.status, 'True', 'it works as before');
    });

    test('/etc: the step that writes there fails, with no partial change, and a later run succeeds', async () => {
      lay({ hooks: { early: { commands: ['echo early >>/tmp/trace'] } }, ...WRITES_FILE });
      mkdirSync('/etc/machineadm-test');
      readOnly('/etc');
      const status = assertEnded(await agent(PROVISION), 10, 'ReadOnlyFilesystem');
      assert.equal(status.failure?.step, 'files');
      assert.match(status.failure?.summary ?? '', /\/etc\/machineadm-test\/file .* read-only/);
      assert.deepEqual(halfDone(), []);
      unmount('/etc');
      mounted.pop();
      assertEnded(await agent(PROVISION), 0, undefined);
      assert.equal(readFileSync('/etc/machineadm-test/file', 'utf8'), 'whole\n');
      assert.deepEqual(trace(), ['early'], 'what was done is not repeated');
    });

    test('/run full: the run is refused before it starts, with one message', async () => {
      lay(WRITES_FILE);
      mount(RUN, 'size=4k,nr_inodes=1');
      const run = await agent(PROVISION);
      assert.equal(run.status, 4, run.stderr);
      assert.equal(JSON.parse(run.stdout).error.reason, 'DiskFull');
      assert.equal(existsSync('/etc/machineadm-test'), false);
    });

    test('status file: a full /run costs a warning, not the run', async () => {
      lay(WRITES_FILE);
      mount(RUN, 'size=4k'); // one page: the lock takes it
      const run = await agent(PROVISION);
      const status = statusOf(run);
      assert.deepEqual([run.status, status.outcome], [0, 'Succeeded'], run.stderr);
      assert.ok(status.warnings.some((warning) => /status\.json could not be written: .*no space/.test(warning)));
      assert.equal(storedStatus(`${STATE}/status.json`).outcome, 'Succeeded');
      assert.deepEqual(
        readdirSync(RUN).filter((name) => name.endsWith('machineadm-new')),
        [],
      );
    });

    test('journal: no room to begin it refuses the run', async () => {
      lay(WRITES_FILE);
      mount(STATE, 'size=4k');
      shell(`head -c 4096 /dev/zero >${STATE}/ballast`);
      assertEnded(await agent(PROVISION), 4, 'DiskFull');
      assert.equal(existsSync('/etc/machineadm-test'), false);
    });

    test('journal: a disk that fills up during a run fails it, and the next run resumes', async () => {
      const fill = `[ -e /tmp/go ] || head -c 1000000 /dev/zero >${STATE}/ballast || true`;
      lay({ hooks: { early: { commands: [`echo one >>/tmp/trace; ${fill}`] } }, ...WRITES_FILE });
      mount(STATE, 'size=64k');
      const status = assertEnded(await agent(PROVISION), 10, 'DiskFull');
      assert.ok(status.warnings.some((warning) => /status\.json could not be written/.test(warning)));
      shell(`rm ${STATE}/ballast`);
      writeFileSync('/tmp/go', '');
      const second = assertEnded(await agent(PROVISION), 0, undefined);
      assert.equal(second.attempt, 2);
      assert.equal(readFileSync('/etc/machineadm-test/file', 'utf8'), 'whole\n');
    });

    test('journal: a record that the full disk truncated is removed', async () => {
      mount(STATE, 'size=12k');
      const journal = await openJournal(openQueryHost(), {
        uid: undefined,
        cloudInstanceId: undefined,
        machineId: 'a',
      });
      const note = (length: number) =>
        journal.append({ is: 'note', step: 's', change: 's/c', note: 'x'.repeat(length) });
      assert.throws(
        () => {
          for (;;) note(1500);
        },
        { reason: 'DiskFull' },
      );
      assert.ok(readFileSync(`${STATE}/journal`, 'utf8').endsWith('}\n'), 'no half of a line is left');
      note(10);
      journal.close();
      assert.equal((await peekJournal(openQueryHost()))?.steps.get('s')?.notes.get('s/c'), 'x'.repeat(10));
      // This process unmounts it, too, in the same turn: an agent never does that without a command of its own.
      dropKeptDirectories();
    });
  });

  test('a damaged journal is refused, named, and left as it is', async () => {
    lay(WRITES_FILE);
    mkdirSync(STATE);
    writeFileSync(`${STATE}/journal`, 'rubbish\n');
    const run = await agent(PROVISION);
    assert.equal(run.status, 4);
    assert.equal(JSON.parse(run.stdout).error.reason, 'JournalUnreadable');
    assert.equal(readFileSync(`${STATE}/journal`, 'utf8'), 'rubbish\n');
    assert.equal(existsSync('/etc/machineadm-test'), false);
  });

  test('plan and provision agree, plan changes nothing, and the second run has nothing to do', async () => {
    lay({ hooks: { early: { commands: ['true'] } }, ...WRITES_FILE });
    const planned = JSON.parse((await agent(['plan', '-d', DOCUMENT, '-o', 'json'])).stdout);
    assert.equal(existsSync(STATE) || existsSync(RUN), false);
    const first = assertEnded(await agent(PROVISION), 0, undefined);
    assert.deepEqual(
      first.steps.flatMap(({ changes }) => changes),
      planned.changes.map(({ id }: { id: string }) => id),
    );
    const second = assertEnded(await agent(PROVISION), 0, undefined);
    assert.deepEqual(
      second.steps.flatMap(({ changes }) => changes),
      [],
    );
    assert.equal((await agent(['plan', '-d', DOCUMENT, '--exit-code'])).status, 0);
  });

  test('not root: NotPrivilegedUser, exit 4, and nothing is written', async () => {
    lay(WRITES_FILE);
    const wrapper = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'];
    // The sources and Node itself may lie where nobody may look.
    chmodSync(DOCUMENT, 0o644);
    for (const command of ['provision', 'prepare', 'plan']) {
      const run = await agent([command, '-d', DOCUMENT, '-o', 'json'], { wrapper });
      assert.equal(run.status, 4, `${command}: ${run.stderr}`);
      assert.equal(JSON.parse(run.stdout).error.reason, 'NotPrivilegedUser');
    }
    assert.equal((await agent(['validate', '-d', DOCUMENT], { wrapper })).status, 0);
    assert.equal(existsSync(STATE) || existsSync(RUN), false);
  });

  test('files that a run leaves are for root, but the summary of its status is for all', async () => {
    lay(WRITES_FILE);
    await agent(PROVISION);
    const mode = (path: string) => `${basename(path)} ${(statSync(path).mode & 0o777).toString(8)}`;
    const both = ['status.json', 'summary.json'].flatMap((name) => [`${RUN}/${name}`, `${STATE}/${name}`]);
    const paths = [`${STATE}/journal`, `${RUN}/lock`, ...both, RUN, STATE];
    assert.deepEqual(paths.map(mode), [
      'journal 600',
      'lock 600',
      'status.json 640',
      'status.json 640',
      'summary.json 644',
      'summary.json 644',
      'machineadm 755',
      'machineadm 755',
    ]);
  });
});
