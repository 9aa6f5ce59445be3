import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { EndedOrphan } from '../../../src/host/index.ts';

const FIXTURES = join(import.meta.dirname, '../../fixtures/host');

/**
 * Runs a script in a PID namespace of its own, so that no process of this machine is ever an orphan of the test. In
 * it, `supervise RUN-ID SCRIPT` and `end_orphans RUN-ID` are the agent.
 */
function isolated(directory: string, script: string): string {
  const agent = `
    supervise() { "${process.execPath}" "${FIXTURES}/supervise.ts" "$@"; }
    end_orphans() { "${process.execPath}" "${FIXTURES}/end-orphans.ts" "$@"; }
    wait_for() { for i in $(seq 200); do [ -s "$1" ] && return; sleep 0.05; done; echo "no $1" >&2; exit 1; }
    alive() { [ -d /proc/$1 ] && ! grep -q '^State:.Z' /proc/$1/status && echo alive || echo ended; }
    cd "${directory}"; rm -f *
  `;
  const args = ['--pid', '--fork', '--mount-proc', '--kill-child', 'bash', '-ec', agent + script];
  const result = spawnSync('unshare', args, { encoding: 'utf8', timeout: 60_000 });
  assert.equal(result.status, 0, result.stderr);
  return result.stdout;
}

describe('what a killed run left behind', { skip: process.geteuid?.() !== 0 && 'needs root' }, () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'machineadm-orphans-'));
  });
  after(() => rm(directory, { recursive: true }));

  test('is ended with its whole process group by the next run, even when it ignores SIGTERM', async () => {
    const out = isolated(
      directory,
      `
      supervise old 'trap "" TERM; (trap "" TERM; while :; do sleep 1; done) & echo $! > child; echo $$ > leader; wait' &
      run=$!
      wait_for leader
      # The function runs in a subshell whose child is the agent.
      pkill -KILL -P $run || true; kill -KILL $run 2>/dev/null || true
      echo "before $(alive $(cat leader)) $(alive $(cat child))"
      end_orphans new > orphans
      echo "after $(alive $(cat leader)) $(alive $(cat child))"
      `,
    );
    assert.equal(out, 'before alive alive\nafter ended ended\n');
    const orphans: readonly EndedOrphan[] = JSON.parse(await readFile(join(directory, 'orphans'), 'utf8'));
    const leader = Number(await readFile(join(directory, 'leader'), 'utf8'));
    assert.deepEqual(orphans, [{ pid: leader, name: 'sh', runId: 'old' }]);
  });

  test('nothing else is touched: commands of this run, processes without the mark, a mark in a text', () => {
    const out = isolated(
      directory,
      `
      supervise new 'echo $$ > own; sleep 30' & own=$!
      setsid sleep 30 & setsid env NOT_MACHINEADM_RUN=old sleep 30 &
      setsid env TEXT=MACHINEADM_RUN=old sleep 30 &
      wait_for own
      end_orphans new
      alive $(cat own)
      pgrep -c -x sleep
      kill $(jobs -p) || true
      `,
    );
    assert.equal(out, '[]alive\n4\n');
  });

  test('a background process of a hook that has ended is left alone', () => {
    const out = isolated(
      directory,
      `
      supervise old 'sleep 30 & echo $! > daemon' > /dev/null
      end_orphans new
      alive $(cat daemon)
      `,
    );
    assert.equal(out, '[]alive\n');
  });

  test('a second call finds nothing', async () => {
    await writeFile(join(directory, 'x'), '');
    assert.equal(isolated(directory, 'end_orphans new'), '[]');
  });
});
