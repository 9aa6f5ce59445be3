import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { runCommand } from '../../../../src/host/linux/commands.ts';
import type { Command } from '../../../../src/host/seam/host.ts';
import { fakeClock } from '../../../support/fake-clock.ts';
import { waitUntil } from '../../../support/wait-until.ts';

function shell(script: string, more: Partial<Command> = {}): Command {
  return { program: 'sh', args: ['-c', script], ...more };
}

async function isAlive(pid: number): Promise<boolean> {
  const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return state !== '' && !/\) [ZX] /.test(state);
}

/** Whoever waits for a command that never ends is ended by this. */
const ONE_THAT_MIGHT_HANG = { timeout: 120_000 };

describe('running a command', () => {
  test('returns the exit status and both streams; a failure is not an exception', async () => {
    const result = await runCommand(shell('echo out; echo err >&2; exit 3'));
    assert.deepEqual(result, { status: 3, stdout: 'out\n', stderr: 'err\n', timedOut: false });
  });

  test('a command that was killed has 128 and the signal as its status', async () => {
    assert.equal((await runCommand(shell('kill -9 $$'))).status, 137);
  });

  for (const [script, summary, remedy] of [
    ['kill -9 $$', 'sh was killed by SIGKILL.', /what sent the signal/],
    ['kill -TERM $$', 'sh was killed by SIGTERM.', /what sent the signal/],
    ['kill -SEGV $$', 'sh crashed (SIGSEGV).', /undamaged and made for this processor/],
  ] as const) {
    test(`a supervised command that ends with "${script}" is named as killed`, async () => {
      await assert.rejects(runCommand(shell(script, { supervised: true })), (error) => {
        assert.ok(error instanceof MachineadmError);
        assert.deepEqual([error.reason, error.message, error.retryable], ['CommandKilled', summary, true]);
        assert.match(error.remedy, remedy);
        assert.doesNotMatch(error.remedy, /document/);
        return true;
      });
    });
  }

  test('SIGTERM to the child and to this process stops the run, whichever is seen first', async () => {
    const stop = new AbortController();
    const reason = new MachineadmError({ reason: 'Interrupted', summary: 'stopped', remedy: 'none' });
    using clock = fakeClock();
    const running = runCommand(shell('kill -TERM $$', { supervised: true, signal: stop.signal }));
    const ended = assert.rejects(running, (error) => error === reason);
    await waitUntil(() => clock.pauses.length > 0, 'the child has ended');
    stop.abort(reason);
    await clock.until(ended);
  });

  test('arguments reach the program as they are', async () => {
    const args = ['%s|', 'a b', '$HOME', '"', '', '*', '\n'];
    assert.equal((await runCommand({ program: 'printf', args })).stdout, 'a b|$HOME|"||*|\n|');
  });

  test('the environment is clean, with what the command adds', async () => {
    process.env.MACHINEADM_TEST_LEAK = 'leak';
    try {
      const { stdout } = await runCommand({ program: 'env', args: [], env: { ADDED: 'yes' } });
      assert.deepEqual(stdout.trim().split('\n').sort(), [
        'ADDED=yes',
        'HOME=/root',
        'LANG=C.UTF-8',
        'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin',
      ]);
    } finally {
      delete process.env.MACHINEADM_TEST_LEAK;
    }
  });

  test('only a supervised command has the mark of its run', async () => {
    const marked = await runCommand({ program: 'env', args: [], supervised: true }, 'run-1');
    assert.match(marked.stdout, /^MACHINEADM_RUN=run-1$/m);
    const unmarked = await runCommand({ program: 'env', args: [] }, 'run-1');
    assert.doesNotMatch(unmarked.stdout, /MACHINEADM_RUN/);
  });

  test('standard input is empty by default, a string, or a stream', async () => {
    assert.equal((await runCommand({ program: 'cat', args: [] })).stdout, '');
    assert.equal((await runCommand({ program: 'cat', args: [], input: 'text' })).stdout, 'text');
    assert.equal(
      (await runCommand({ program: 'cat', args: ['/dev/stdin'], input: 'opened again' })).stdout,
      'opened again',
    );
    const pieces = async function* () {
      yield Buffer.from('one ');
      yield Buffer.from('two');
    };
    assert.equal((await runCommand({ program: 'cat', args: [], input: pieces() })).stdout, 'one two');
  });

  test('a child that does not read its input is no error; a source that fails is one, and ends the child', async () => {
    const endless = async function* () {
      for (;;) yield new Uint8Array(65536);
    };
    assert.equal((await runCommand({ program: 'true', args: [], input: endless() })).status, 0);
    const failing = async function* () {
      yield Buffer.from('half');
      throw new Error('the archive ends early');
    };
    await assert.rejects(runCommand(shell('cat; sleep 60', { input: failing() })), (error: unknown) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'HostStepFailed');
      assert.match(error.evidence[0]?.text ?? '', /the archive ends early/);
      return true;
    });
  });

  test('a program that is not installed, and a directory that does not exist, are reported', async () => {
    await assert.rejects(runCommand({ program: 'machineadm-nonesuch', args: [] }), {
      reason: 'HostStepFailed',
      message: 'machineadm-nonesuch could not be started: it is not installed',
    });
    await assert.rejects(runCommand({ program: 'true', args: [], cwd: '/nonesuch' }), { reason: 'HostStepFailed' });
  });
});

describe('the output of a command', () => {
  test('lines come while it runs, redacted, those of a private key too', async () => {
    const secret = new Secret('correct-horse-battery');
    const lines: string[] = [];
    const script = `echo token ${secret.reveal()}; echo ready >&2; printf '%s\\n' '-----BEGIN PRIVATE KEY-----' MIIE; printf end`;
    const onLine = (stream: string, line: string) => lines.push(`${stream}: ${line}`);
    const result = await runCommand(shell(script, { onLine }));
    assert.deepEqual(
      lines.filter((line) => line.startsWith('stdout')),
      ['stdout: token [redacted]', 'stdout: [redacted]', 'stdout: [redacted]', 'stdout: [redacted]'],
    );
    assert.ok(lines.includes('stderr: ready'));
    assert.match(result.stdout, /correct-horse-battery/, 'the result is for the step, which may need it');
  });

  test('a single line of a megabyte comes whole, and of three megabytes the last one is kept', async () => {
    const lengths: number[] = [];
    const script = `head -c 1048576 /dev/zero | tr '\\0' x; echo; head -c 3145728 /dev/zero | tr '\\0' y; printf END`;
    const result = await runCommand(shell(script, { onLine: (_, line) => lengths.push(line.length) }));
    assert.deepEqual(lengths, [1048576, 3145731]);
    assert.equal(result.stdout.length, 1048576);
    assert.ok(result.stdout.endsWith('yyyEND'));
  });

  test('another descriptor carries a protocol of its own', async () => {
    const marks: string[] = [];
    const script = 'echo entry 1 >&3; echo text; echo entry 2 >&3';
    const result = await runCommand(shell(script, { onDescriptorLine: (mark) => marks.push(mark) }));
    assert.deepEqual(marks, ['entry 1', 'entry 2']);
    assert.equal(result.stdout, 'text\n');
  });

  test('a line on another descriptor can be answered, also where the program ends without reading it', async () => {
    const line = (mark: string, answer: (text: string) => void) => answer(`answer to ${mark}`);
    const asked = (script: string) => runCommand(shell(script, { onDescriptorLine: line }));
    const { stdout } = await asked(
      'echo a >&3; read answer <&3; echo "$answer"; echo b >&3; read answer <&3; echo "$answer"',
    );
    assert.equal(stdout, 'answer to a\nanswer to b\n');
    for (const script of [
      'echo a >&3; exit 3',
      'echo a >&3; echo b >&3; sleep 0.1; echo c >&3; exec 3>&-; sleep 0.1; exit 3',
    ])
      assert.equal((await asked(script)).status, 3);
  });

  test(
    'a listener that throws ends the command and is reported; it does not end this process',
    ONE_THAT_MIGHT_HANG,
    async () => {
      const onLine = () => {
        throw new MachineadmError({ reason: 'HookFailed', summary: 'enough', remedy: 'none' });
      };
      await assert.rejects(runCommand(shell('echo a; sleep infinity', { onLine })), { reason: 'HookFailed' });
    },
  );

  test(
    'a child in the background that holds the pipes does not delay the result, and continues',
    ONE_THAT_MIGHT_HANG,
    async () => {
      const result = await runCommand(shell('sleep infinity & echo $!'));
      const pid = Number(result.stdout);
      try {
        assert.equal(result.status, 0);
        assert.equal(await isAlive(pid), true);
      } finally {
        process.kill(pid);
      }
    },
  );

  test('what was written just before the end is not lost, even to a process that was busy meanwhile', async () => {
    const begun = Promise.withResolvers<string>();
    const script = 'echo x; sleep 0.3; head -c 60000 /dev/zero | tr "\\0" z';
    const running = runCommand(shell(script, { onLine: (_, line) => begun.resolve(line) }));
    await begun.promise;
    // Blocks the event loop over the command's end and the second of silence after it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_600);
    assert.equal((await running).stdout.length, 60002);
  });
});

describe('ending a command early', () => {
  test('a timeout ends the whole group, grandchildren too', async () => {
    const result = await runCommand(shell('sleep 60 & echo $!; wait', { timeoutMs: 1000 }));
    assert.equal(result.timedOut, true);
    assert.equal(result.status, 143);
    assert.equal(await isAlive(Number(result.stdout)), false);
  });

  test('a command that ignores SIGTERM is killed after five seconds, also when the leader ended at once', async () => {
    using clock = fakeClock({ deadlines: true });
    const script = '(trap "" TERM; echo $(exec sh -c "echo \\$PPID"); while :; do sleep 1; done) & wait';
    const begun = Promise.withResolvers<string>();
    const running = runCommand(shell(script, { timeoutMs: 300, onLine: (_, line) => begun.resolve(line) }));
    const pid = Number((await begun.promise).replace(/^.*: /, ''));
    await clock.pass(5_299);
    assert.equal(await isAlive(pid), true, 'it has five seconds after the time-out');
    const result = await clock.until(running);
    assert.deepEqual([result.timedOut, Number(result.stdout)], [true, pid]);
    await waitUntil(async () => !(await isAlive(pid)), 'it is killed');
  });

  test('a command that exits with 0 after its timeout has not succeeded', async () => {
    const result = await runCommand(shell('trap "exit 0" TERM; sleep 60 & wait', { timeoutMs: 300 }));
    assert.deepEqual([result.timedOut, result.status], [true, 124]);
  });

  test('an abort ends it and throws the reason of the abort', async () => {
    const deadline = new MachineadmError({ reason: 'DeadlinePassed', summary: 'too late', remedy: 'be earlier' });
    const controller = new AbortController();
    const onLine = () => controller.abort(deadline);
    const running = runCommand(shell('echo begun; sleep 60', { signal: controller.signal, onLine }));
    await assert.rejects(running, (error) => error === deadline);
    await assert.rejects(runCommand(shell('true', { signal: controller.signal })), (error) => error === deadline);
    await assert.rejects(runCommand(shell('sleep 60', { signal: AbortSignal.timeout(100) })), {
      reason: 'HostStepFailed',
    });
  });

  test('an abort after the end changes nothing', async () => {
    const controller = new AbortController();
    const result = await runCommand(shell('echo done', { signal: controller.signal }));
    controller.abort();
    assert.equal(result.stdout, 'done\n');
  });
});
