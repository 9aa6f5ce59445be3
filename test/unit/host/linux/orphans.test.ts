import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { after, afterEach, describe, test } from 'node:test';
import { endOrphans } from '../../../../src/host/linux/orphans.ts';
import { readProcess } from '../../../../src/host/linux/processes.ts';
import { needs } from '../../../support/needs.ts';
import { LOCK_PATH } from '../../../support/orphans/paths.ts';
import { copyOf } from '../../../support/stand-ins.ts';

const { endOrphans: end }: { readonly endOrphans: typeof endOrphans } = await import(
  copyOf(
    'src/host/linux/orphans.ts',
    'own-lock',
    new Map([['src/host/files/paths.ts', 'test/support/orphans/paths.ts']]),
  )
);

/** Of this process: another checkout may run the same tests. */
const KILLED = `killed-${process.pid}`;
const started: ReturnType<typeof spawn>[] = [];

/** A command that a run with this id started, in a process group of its own or in that of the test. */
async function left(runId: string, detached = true): Promise<number> {
  const child = spawn('sleep', ['60'], {
    detached,
    env: { MACHINEADM_RUN: runId, PATH: '/usr/bin:/bin' },
    stdio: 'ignore',
  });
  started.push(child);
  await once(child, 'spawn');
  return child.pid ?? assert.fail('it was not started');
}

describe('commands that a killed run left', { skip: needs('Linux') }, () => {
  afterEach(() => {
    for (const child of started.splice(0)) child.kill('SIGKILL');
  });
  after(() => rmSync(dirname(LOCK_PATH), { recursive: true }));

  test('are not searched for if this machine has no lock file, or no run was killed', async () => {
    const pid = await left(KILLED);
    assert.deepEqual(await end(new Set([KILLED])), []);
    writeFileSync(LOCK_PATH, '');
    assert.deepEqual(await end(new Set()), []);
    assert.deepEqual(await endOrphans(new Set()), []);
    assert.notEqual(await readProcess(pid), undefined);
  });

  test('are ended, and reported by name; those of other runs and those in the group of another continue', async () => {
    writeFileSync(LOCK_PATH, '');
    const [pid, other, member] = [await left(KILLED), await left('another'), await left(KILLED, false)];
    const gone = once(started[0] ?? assert.fail(), 'exit');
    assert.deepEqual(await end(new Set([KILLED, 'third'])), [{ pid, name: 'sleep', runId: KILLED }]);
    assert.deepEqual(await gone, [null, 'SIGKILL']);
    assert.notEqual(await readProcess(other), undefined);
    assert.notEqual(await readProcess(member), undefined);
    assert.deepEqual(await end(new Set([KILLED])), []);
  });

  test('that run in another mount namespace are not ended: the run is refused, with the command that ends them', {
    skip: needs('root'),
  }, async () => {
    writeFileSync(LOCK_PATH, '');
    const child = spawn('unshare', ['--mount', 'sleep', '60'], {
      detached: true,
      env: { MACHINEADM_RUN: KILLED, PATH: '/usr/bin:/bin' },
      stdio: 'ignore',
    });
    started.push(child);
    await once(child, 'spawn');
    const pid = child.pid ?? assert.fail('it was not started');
    while ((await readProcess(pid))?.name !== 'sleep') await new Promise((resolve) => setImmediate(resolve));
    await assert.rejects(end(new Set([KILLED])), {
      reason: 'HostStepFailed',
      exit: 'Refused',
      retryable: true,
      message: `sleep (process ${pid}) of the killed run ${KILLED} still runs, in other namespaces than this run`,
      evidence: [{ source: `/proc/${pid}/ns`, text: 'its PID or mount namespace is not the one of this run' }],
    });
    assert.notEqual(await readProcess(pid), undefined);
  });
});
