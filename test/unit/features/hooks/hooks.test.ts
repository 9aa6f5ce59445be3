import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempDisposableSync, readFileSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { HookGroup } from '@machineadm/document/model/index.ts';
import { hookReasonLine } from '@machineadm/document/outcomes/hook-reasons.ts';
import { afterBootstrapHooks, beforeBootstrapHooks, earlyHooks } from '../../../../src/features/hooks/index.ts';
import { LineSplitter } from '../../../../src/host/commands/output.ts';
import { DRIVER_FILES, possibleFunctionNames } from '../../../../src/shell/driver.ts';
import { hookFailed } from '../../../../src/shell/errors.ts';
import { hookScript, parseMarker, savedState } from '../../../../src/shell/script.ts';
import { EMPTY_RECORD, type StepRecord } from '../../../../src/step/index.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { type MemoryProgram, memoryHost } from '../../../support/memory-host.ts';
import { needs } from '../../../support/needs.ts';
import { planned, runStep } from '../../../support/run-step.ts';
import { waitUntil } from '../../../support/wait-until.ts';

const GROUP: HookGroup = {
  shell: 'sh',
  onError: 'Fail',
  timeoutMs: 1000,
  frequency: 'Once',
  commands: ['export T=hunter-two', 'true'],
};

function early(group: Partial<HookGroup> = {}) {
  return hostModel({ hooks: { early: { ...GROUP, ...group }, beforeBootstrap: undefined, afterBootstrap: undefined } });
}

/** A shell that says these lines on the driver's descriptor; what it really does is tested with real shells. */
function shell(...markers: string[]): MemoryProgram {
  return (command) => {
    for (const marker of markers) command.onDescriptorLine?.(marker, () => {});
    return {};
  };
}

/** Copies a state, as the agent makes it durable. */
const save = (directory: string, entry: string): void =>
  copyFileSync(join(directory, `state-${entry}`), join(directory, 'state'));

interface Driven {
  readonly ended: readonly [number | null, NodeJS.Signals | null];
  /** What the driver printed on its descriptor. */
  readonly markers: readonly string[];
  /** The programs that it started. */
  readonly ran: readonly string[];
  readonly state: string;
}

/** The driver in a real shell, with this agent at the other end of its descriptor. */
async function drive(
  shell: readonly [string, ...string[]],
  commands: readonly string[],
  agent: (marker: string, answer: (text: string) => void, child: ChildProcess, directory: string) => void,
): Promise<Driven> {
  const { path: directory, remove } = mkdtempDisposableSync(join(tmpdir(), 'machineadm-driver-'));
  try {
    const put = (name: string, content: string, mode = 0o600) =>
      writeFileSync(join(directory, name), content, { mode });
    for (const [name, content] of Object.entries(DRIVER_FILES)) put(name, content);
    for (const [index, command] of commands.entries()) put(`entry-${index + 1}`, `${command}\n`);
    put('words', possibleFunctionNames(commands));
    put('ran', '');
    // The driver looks up its programs once; each prints that it ran.
    for (const name of ['mv', 'sync', 'cat', 'readlink', 'ls']) {
      const path = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
      put(name, `#!/bin/sh\necho ${name} >>${directory}/ran\nexec ${path} "$@"\n`, 0o755);
    }
    const [program, ...first] = shell;
    const args = [...first, join(directory, 'driver'), directory, join(directory, 'state'), 'token', '1'];
    const child = spawn(program, [...args, `${commands.length}`, 'Fail', 'no'], {
      env: { PATH: `${directory}:${process.env.PATH}` },
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    });
    const channel = child.stdio[3];
    assert.ok(channel instanceof Socket);
    const markers: string[] = [];
    const splitter = new LineSplitter((marker) => {
      markers.push(marker);
      agent(marker, (text) => channel.write(`${text}\n`), child, directory);
    });
    channel.on('data', (bytes) => splitter.write(bytes));
    // A shell may end before it read the last answer.
    channel.on('error', () => undefined);
    const [status, signal]: [number | null, NodeJS.Signals | null] = await new Promise((resolve) => {
      child.once('close', (...ended) => resolve(ended));
    });
    return {
      ended: [status, signal],
      markers,
      ran: readFileSync(join(directory, 'ran'), 'utf8').split('\n').filter(Boolean),
      state: existsSync(join(directory, 'state')) ? readFileSync(join(directory, 'state'), 'utf8') : '',
    };
  } finally {
    remove();
  }
}

describe('the driver of a group', { skip: needs('Linux') }, () => {
  const shells: readonly (readonly [string, ...string[]])[] = [['sh'], ['bash'], ['busybox', 'sh']];
  for (const shell of shells.filter(([name]) => spawnSync(name, ['-c', ':']).error === undefined)) {
    const sets = ['export E1=1', 'export E2=1', 'export E3=1', 'export E4=1'];
    const named = shell.join(' ');

    test(`in ${named}: no program saves an entry, the agent does, and the next entry begins after its answer`, async () => {
      const seen: string[] = [];
      const { ended, ran, state, markers } = await drive(shell, sets, (marker, answer, _child, directory) => {
        const [kind, entry = ''] = marker.split(' ');
        if (kind !== 'save') return;
        setImmediate(() => {
          seen.push(marker);
          save(directory, entry);
          answer('saved');
        });
      });
      assert.deepEqual(ended, [0, null]);
      assert.match(state, /^# machineadm hook token 4 whole\n[\s\S]*E4/);
      assert.deepEqual(seen, ['save 1', 'save 2', 'save 3', 'save 4']);
      const entries = ['1', '2', '3', '4'];
      assert.deepEqual(
        markers,
        entries.flatMap((entry) => [`begin ${entry}`, `save ${entry}`, `end ${entry} 0`]),
      );
      // Where the kernel prints no inodes, readlink does.
      assert.deepEqual(
        ran.filter((name) => name !== 'readlink'),
        [],
      );
    });

    for (const [when, dies] of [
      ['during an entry', 'begin 2'],
      ['before it saved an entry', 'save 2'],
    ] as const)
      test(`in ${named}: the shell of an agent that was killed ${when} saves that entry itself, and ends`, async () => {
        const waits = [sets[0] ?? '', 'sleep 0.3; export E2=1', 'export E3=1'];
        const { ended, ran, state } = await drive(shell, waits, (marker, answer, child, directory) => {
          if (marker === dies) child.stdio[3]?.destroy();
          else if (marker === 'save 1') {
            save(directory, '1');
            answer('saved');
          }
        });
        assert.deepEqual(ended, [null, 'SIGPIPE']);
        assert.match(state, /^# machineadm hook token 2 whole\n[\s\S]*E2/);
        assert.doesNotMatch(state, /E3/);
        assert.deepEqual(
          ran.filter((name) => name !== 'readlink'),
          ['cat', 'sync', 'mv'],
        );
      });

    test(`in ${named}: a trapped signal does not end the wait for the answer`, async () => {
      const saved = new Set<string>();
      let queue = Promise.resolve();
      const commands = ['trap : USR1', 'export E2=1', 'export E3=1'];
      const { ended, markers, state } = await drive(shell, commands, (marker, answer, child, directory) => {
        const [kind, entry = ''] = marker.split(' ');
        if (kind === 'begin' && entry !== '1') assert.ok(saved.has(`${Number(entry) - 1}`));
        if (kind !== 'save') return;
        queue = queue.then(async () => {
          if (saved.size === 0) {
            child.kill('SIGUSR1');
            const status = `/proc/${child.pid}/status`;
            await waitUntil(() => /^ShdPnd:\t0+$/m.test(readFileSync(status, 'utf8')), 'the shell gets the signal');
          }
          save(directory, entry);
          saved.add(entry);
          answer('saved');
        });
      });
      assert.deepEqual(ended, [0, null]);
      assert.deepEqual(
        markers.filter((marker) => marker !== 'wait 1'),
        ['1', '2', '3'].flatMap((entry) => [`begin ${entry}`, `save ${entry}`, `end ${entry} 0`]),
      );
      assert.match(state, /^# machineadm hook token 3 whole\n/);
    });

    test(`in ${named}: an entry that the agent cannot save is reported, and its trap of a broken pipe is kept`, async () => {
      const commands = ["trap 'echo \"a\nb\"' PIPE; trap 'echo PIPE' USR2", 'trap >&2; export E2=1'];
      const { ended, markers, state } = await drive(shell, commands, (marker, answer, _child, directory) => {
        if (marker === 'save 1') answer('unsaved');
        if (marker !== 'save 2') return;
        save(directory, '2');
        answer('saved');
      });
      assert.deepEqual(ended, [0, null]);
      assert.deepEqual(markers.slice(0, 4), ['begin 1', 'save 1', 'unsaved 1', 'end 1 0']);
      assert.match(state, /trap -- 'echo "a\nb"' (SIG)?PIPE\n/);
      assert.match(state, /trap -- 'echo PIPE' (SIG)?USR2\n/);
    });
  }
});

describe('the words of a group that may be functions', () => {
  test('are each there once, with the last entry that has them, the last first', () => {
    assert.equal(possibleFunctionNames(['f a', 'g', 'f b-c']), '3 f\n3 b-c\n2 g\n1 a\n');
  });
  test('are as many for a hundred entries with the same words as for two', () => {
    const lines = (count: number) =>
      possibleFunctionNames(Array.from({ length: count }, () => 'f a >> /b.log')).split('\n').length;
    assert.equal(lines(100), lines(2));
  });
});

describe('hooks', () => {
  test('of plain words are not given to a shell to find mistakes in them', async () => {
    const host = memoryHost({ programs: { sh: shell() } });
    const asked = async (command: string): Promise<number> => {
      const before = host.queries.length;
      const desired = earlyHooks.desired(early({ commands: [command] }), facts());
      assert.ok(desired !== undefined);
      await earlyHooks.preflight?.(host, desired);
      return host.queries.length - before;
    };
    for (const plain of ['systemctl enable --now kubelet.service', 'echo a >> /var/log/x\n\n modprobe br_netfilter'])
      assert.equal(await asked(plain), 0, plain);
    for (const other of ['if true', 'echo "a', 'echo a; b', 'echo >', 'fi', 'a\ndone', 'echo $(a', 'x()'])
      assert.equal(await asked(other), 1, other);
  });

  // The shells themselves are driven in test/slow/features/hooks.test.ts.
  test('are one change that is not repeated blindly, of the node, and show nothing of the commands', async () => {
    const changes = await planned(earlyHooks, memoryHost(), early());
    assert.deepEqual(
      changes.map(({ id, summary, scope, repeatable }) => [id, summary, scope, repeatable]),
      [['hooks-early/run', 'run 2 commands with sh', 'node', false]],
    );
  });

  test('fail for the reason that a command gives in its last words, before the bootstrap', () => {
    const failed = { entry: 2, status: 1, kill: undefined };
    const lines = [
      'Job failed.',
      hookReasonLine('RequiredUnitNotStarted', 'a.service did not start'),
      'its shell ended',
    ];
    const { reason, message, remedy, retryable } = hookFailed('beforeBootstrap', GROUP, failed, lines);
    assert.deepEqual([reason, retryable], ['RequiredUnitNotStarted', true]);
    assert.match(message, /entry 2 of 2 .*: a\.service did not start\.$/);
    assert.match(remedy, /journalctl -u/);
    assert.equal(hookFailed('afterBootstrap', GROUP, failed, lines).reason, 'AfterBootstrapHookFailed');
    for (const foreign of ['machineadm: KubeletNotHealthy: x', 'x machineadm: EnvironmentFileMissing: y'])
      assert.equal(hookFailed('beforeBootstrap', GROUP, failed, [foreign]).reason, 'HookFailed');
  });

  test('belong each to a place in the run', () => {
    const ids = [earlyHooks, beforeBootstrapHooks, afterBootstrapHooks].map(({ id }) => id);
    assert.deepEqual(ids, ['hooks-early', 'hooks-before-bootstrap', 'hooks-after-bootstrap']);
  });

  test('are not run again on an instance where they are done, whatever they say now', async () => {
    const record = { ...EMPTY_RECORD, done: new Set(['hooks-early/run']) };
    assert.deepEqual(await planned(earlyHooks, memoryHost(), early({ commands: ['other'] }), { record }), []);
  });

  describe('that ran to their end', () => {
    const programs = { sh: shell('begin 1', 'end 1 0', 'begin 2', 'end 2 0') };
    /** What the journal of a run of GROUP holds. */
    const ranOnce = async (group: Partial<HookGroup> = {}) => {
      const { notes } = await runStep(earlyHooks, memoryHost({ programs }), early(group));
      const [note] = [...notes.values()] as [{ commands: readonly string[] }];
      return { ...EMPTY_RECORD, done: new Set(['hooks-early/run']), notes, ran: new Set([note.commands.join()]) };
    };
    const summaries = async (group: Partial<HookGroup>, record: StepRecord) =>
      (await planned(earlyHooks, memoryHost({ programs }), early(group), { record })).map(({ summary }) => summary);

    test('and have another content are others, which have not run yet', async () => {
      const record = await ranOnce();
      assert.deepEqual(await summaries({}, record), []);
      for (const changed of [{ commands: ['other'] }, { environment: { A: 'b' } }, { workingDirectory: '/srv' }]) {
        const [summary = ''] = await summaries(changed, record);
        assert.match(summary, /^run \d commands? with sh, not run before$/);
      }
    });

    test('run again where they changed and say OnChange, once', async () => {
      const rerun = 'OnChange' as const;
      const record = await ranOnce({ rerun });
      assert.deepEqual(await summaries({ rerun }, record), []);
      const commands = ['export T=other', 'true'];
      assert.deepEqual(await summaries({ rerun, commands }, record), [
        'run 2 commands with sh, again: it changed since it ran',
      ]);
      const again = await runStep(earlyHooks, memoryHost({ programs }), early({ rerun, commands }), { record });
      assert.deepEqual([again.changes.length, again.left.length], [1, 0]);
    });

    test('run again in every run where they say Always, and in each only once', async () => {
      const rerun = 'Always' as const;
      const record = await ranOnce({ rerun });
      assert.deepEqual(await summaries({ rerun }, record), ['run 2 commands with sh, as in every run']);
      assert.deepEqual(await summaries({ rerun }, { ...record, doneInRun: new Set(['hooks-early/run']) }), []);
      const again = await runStep(earlyHooks, memoryHost({ programs }), early({ rerun }), { record });
      assert.deepEqual([again.changes.length, again.left.length], [1, 0]);
    });

    test('and were killed when they ran again are continued, though an earlier run brought them to their end', async () => {
      const rerun = 'OnChange' as const;
      const record = await ranOnce({ rerun });
      const interrupted = { ...record, interrupted: new Set(['hooks-early/run']) };
      assert.deepEqual(await summaries({ rerun }, interrupted), ['run 2 commands with sh']);
      const [[, note]] = [...record.notes] as [[string, { token: string }]];
      const files = { '/var/lib/machineadm/hooks/hooks-early': `# machineadm hook ${note.token} 1 fresh\n` };
      const [change] = await planned(earlyHooks, memoryHost({ files }), early({ rerun }), { record: interrupted });
      assert.equal(change?.summary, 'continue after command 1 of 2, where an earlier run ended');
    });
  });

  test('whose user or directory is not there are refused before any change', async () => {
    const group = { ...GROUP, user: 'core', workingDirectory: '/opt/site' };
    const programs = { sh: shell(), getent: () => ({ status: 2 }) };
    const asked = { phase: 'early', group, afterEarlyHooks: false, makesUser: false } as const;
    const missing = await earlyHooks.preflight?.(memoryHost({ programs }), asked);
    assert.deepEqual(
      missing?.map(({ what }) => what),
      [
        '/opt/site, the working directory of host.hooks.early, does not exist.',
        'The user core of host.hooks.early does not exist.',
        'setpriv, which runs host.hooks.early as another user, is not installed.',
      ],
    );
    const later = { ...asked, phase: 'beforeBootstrap', makesUser: true } as const;
    const withSetpriv = memoryHost({ programs: { ...programs, setpriv: shell() } });
    assert.deepEqual(await beforeBootstrapHooks.preflight?.(withSetpriv, later), []);
    await assert.rejects(runStep(earlyHooks, memoryHost({ programs }), early({ user: 'core' })), {
      reason: 'HookFailed',
    });
  });

  test('put the commands into files of root alone, and never into the arguments', async () => {
    const host = memoryHost({ programs: { sh: shell('begin 1', 'end 1 0', 'begin 2', 'end 2 0') } });
    const run = await runStep(earlyHooks, host, early());
    const writes = host.log.filter((line) => line.startsWith('write ') || line.startsWith('mkdir '));
    assert.ok(writes.length > 4);
    for (const line of writes) assert.match(line, / (0600 0:0|0700)$/);
    assert.ok(host.log.every((line) => !line.includes('hunter')));
    assert.deepEqual(run.left, []);
    assert.deepEqual(run.waits, ['entry 1 of 2 of the hook early', 'entry 2 of 2 of the hook early', undefined]);
    assert.doesNotMatch(JSON.stringify([...run.notes]), /hunter/);
  });

  test('of another instance, left on a cloned disk, are not gone on with', async () => {
    const host = memoryHost({
      files: { '/var/lib/machineadm/hooks/hooks-early': '# machineadm hook other-token 1\n' },
    });
    const [change] = await planned(earlyHooks, host, early());
    assert.equal(change?.summary, 'run 2 commands with sh');
    assert.equal((await savedState(host, hookScript('hooks-early'), 'my-token')).completed, 0);
    assert.equal((await savedState(host, hookScript('hooks-early'), 'other-token')).completed, 1);
  });

  test('say so when how far they came could not be saved', async () => {
    const host = memoryHost({ programs: { sh: shell('begin 1', 'unsaved 1', 'end 1 0') } });
    const run = await runStep(earlyHooks, host, early({ commands: ['true'] }));
    assert.match(run.warnings[0] ?? '', /could not be saved after entry 1 of 1/);
  });

  test('report a shell that is not installed before any change, unless an early hook may install it', async () => {
    const bash = { ...GROUP, shell: 'bash' } as const;
    const missing = await earlyHooks.preflight?.(memoryHost(), {
      phase: 'early',
      group: bash,
      afterEarlyHooks: false,
      makesUser: false,
    });
    assert.deepEqual(
      missing?.map(({ reason, what }) => [reason, what]),
      [['HookFailed', 'bash, the shell of host.hooks.early, is not installed']],
    );
    const later = { phase: 'beforeBootstrap', group: bash, afterEarlyHooks: true, makesUser: false } as const;
    assert.deepEqual(await beforeBootstrapHooks.preflight?.(memoryHost(), later), []);
  });

  test('refuse a note in the journal that they did not write', async () => {
    const record = { ...EMPTY_RECORD, notes: new Map([['hooks-early/run', { token: 1 }]]) };
    await assert.rejects(planned(earlyHooks, memoryHost(), early(), { record }), { reason: 'JournalUnreadable' });
  });

  test('understand only the lines of their own driver', () => {
    assert.deepEqual(parseMarker('end 2 127'), { kind: 'end', entry: 2, status: 127 });
    assert.equal(parseMarker('end 2'), undefined);
    assert.equal(parseMarker('begin'), undefined);
  });
});
