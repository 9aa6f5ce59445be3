import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { MESSAGE_IDS } from '@machineadm/status/journal-entry.ts';
import { collect } from '../../../src/diagnosis/collect.ts';
import { linuxHost, linuxQueryHost } from '../../../src/host/machine/linux-host.ts';
import { openReporter } from '../../../src/reporting/reporter.ts';
import { journalSink } from '../../../src/reporting/sinks/journal.ts';
import { startJournald } from '../../support/journald.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';
import { FAILURE, IDENTITY } from '../../unit/reporting/runs.ts';

inThrowAwayMachine(import.meta.filename, () => {
  describe('a real journald', { skip: needs('/lib/systemd/systemd-journald') }, () => {
    let journald: ChildProcess | undefined;
    before(async () => {
      journald = await startJournald();
    });
    after(() => {
      journald?.kill();
    });

    /** All entries of a run, oldest first. */
    function entries(runId: string): readonly Readonly<Record<string, unknown>>[] {
      execFileSync('journalctl', ['--sync']);
      const options = { encoding: 'utf8' } as const;
      return execFileSync('journalctl', ['-q', '-o', 'json', '-a', `MACHINEADM_RUN=${runId}`], options)
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    }

    test('holds a run as structured entries, in order, with its message of several lines', async () => {
      const host = linuxHost({ runId: 'run-journal' });
      const reporter = await openReporter({
        identity: { ...IDENTITY, runId: 'run-journal' },
        host,
        // A slow machine is not what this test is about.
        deliveryMs: 120_000,
      });
      reporter.useSinks([journalSink(host)], 10_000);
      reporter.stepStarted('kubeadm');
      reporter.waitingFor('kubeadm', 'the API server');
      reporter.stepDone('kubeadm', { state: 'Failed', changes: [], durationMs: 1 });
      await reporter.conclude({ outcome: 'Failed', exitCode: 11, failure: FAILURE });
      await reporter.close();
      assert.deepEqual(reporter.status.warnings, []);

      const found = entries('run-journal');
      assert.deepEqual(
        found.map((entry) => entry.MESSAGE_ID),
        [
          MESSAGE_IDS.Started,
          MESSAGE_IDS.StepStarted,
          MESSAGE_IDS.Waiting,
          MESSAGE_IDS.StepFailed,
          MESSAGE_IDS.Failed,
        ].map((message) => message.id),
      );
      const last = found.at(-1);
      assert.equal(last?.SYSLOG_IDENTIFIER, 'machineadm');
      assert.equal(last?.PRIORITY, '3');
      assert.equal(last?.MACHINEADM_REASON, 'SwapEnabled');
      assert.equal(last?.MACHINEADM_OUTCOME, 'Failed');
      assert.equal(last?.MACHINEADM_STEP, 'kubeadm');
      const message = String(last?.MESSAGE).split('\n');
      assert.match(message[0] ?? '', /^provision of node-1 failed after .*: SwapEnabled: Swap is on\.$/);
      assert.equal(message.at(-1), 'What to do: Set host.swap to Disabled.');
    });

    test('has each line of a unit once, as an entry with its fields', () => {
      const document = '/run/once.yaml';
      const metadata = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: once-1}\n';
      const hook = 'hooks: {early: {commands: [echo said by the hook]}}';
      writeFileSync(document, `${metadata}host: {${hook}, files: [{path: /run/once, content: x}]}\n`);
      // As systemd.exec(5) has it for a unit; systemd-cat itself does not say it.
      const asUnit = 'JOURNAL_STREAM=$(stat -Lc %d:%i /proc/self/fd/2) exec "$@"';
      const main = join(import.meta.dirname, '../../../src/main.ts');
      const command = [process.execPath, main, 'provision', '-f', document];
      execFileSync('systemd-cat', ['-t', 'once', 'sh', '-c', `export JOURNAL_STREAM; ${asUnit}`, 'sh', ...command]);
      execFileSync('journalctl', ['--sync']);
      const lines = execFileSync('journalctl', ['-q', '-o', 'cat'], { encoding: 'utf8' }).split('\n');
      for (const line of [
        'provision of once-1 started',
        'files: started',
        /^files: done, 1 change/,
        /^provision of once-1 succeeded/,
        '  hooks-early: said by the hook',
      ]) {
        const found = lines.filter((one) => (typeof line === 'string' ? one === line : line.test(one)));
        assert.equal(found.length, 1, `${line}: ${found.join(' | ')}`);
      }
    });

    test('is read by the collectors, unit by unit and from the beginning of the run on', async () => {
      say('kubelet', 'long before the run');
      await sleep(1100);
      const since = Date.now();
      await sleep(1100);
      say('kubelet', 'running with swap on is not supported');
      say('containerd', 'failed to load TOML');
      execFileSync('journalctl', ['--sync']);
      const context = { criSocket: 'unix:///run/none.sock', role: 'Worker', deadlineMs: 8000 } as const;
      const observed = await collect(linuxQueryHost(), { ...context, since: { realTimeMs: since } });
      assert.deepEqual(
        // The disks of the machine that this runs on are what they are.
        observed.filter((line) => line.source !== 'unit' && line.source !== 'check'),
        [
          { source: 'kubelet', origin: 'journal of kubelet', text: 'running with swap on is not supported' },
          { source: 'containerd', origin: 'journal of containerd', text: 'failed to load TOML' },
        ],
      );
    });
  });

  /**
   * Logs a line as the service manager lets a service do: over a stream whose header names the unit. Each in a process
   * of its own, as journald remembers the unit of a process (src/journal/journald-context.c).
   */
  function say(service: string, line: string): void {
    // journald shuts its side down at once (src/journal/journald-stream.c), which must not end ours.
    const script = `const [, service, line] = process.argv;
      require('node:net').connect({ path: '/run/systemd/journal/stdout', allowHalfOpen: true })
        .end(service + '\\n' + service + '.service\\n6\\n0\\n0\\n0\\n0\\n' + line + '\\n');`;
    execFileSync(process.execPath, ['-e', script, service, line]);
  }

  test('without journald and syslog the sink is a warning, and the run is the same', async () => {
    if (existsSync('/run/systemd/journal/socket')) execFileSync('rm', ['/run/systemd/journal/socket']);
    const host = linuxHost({ runId: 'run-2' });
    const reporter = await openReporter({ identity: IDENTITY, host });
    reporter.useSinks([journalSink(host)], 5_000);
    await reporter.conclude({ outcome: 'Succeeded', exitCode: 0 });
    await reporter.close();
    assert.equal(reporter.status.outcome, 'Succeeded');
    assert.match(reporter.status.warnings[0] ?? '', /^sink Journal cannot be used: there is neither a journal/);
  });
});
