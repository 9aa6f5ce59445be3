import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { EndedOrphan } from '../../../src/host/seam/host.ts';
import { needs } from '../../support/needs.ts';

const FIXTURES = join(import.meta.dirname, '../../fixtures/host');

const CHECKOUT = join(import.meta.dirname, '../../..');
const SERVICE_MANAGER = join(CHECKOUT, 'src/host/linux/service-manager.ts');
const ORPHANS = join(import.meta.dirname, '../../../src/host/linux/orphans.ts');

/** Starts a marked process group with START, and leaves its id, as the namespace of the script counts it, in `found`. */
function marked(start: string): string {
  return `
    mkdir -p /run/root
    printf '#!/bin/sh\\nmount -t tmpfs none /run; mkdir /run/machineadm; touch /run/machineadm/lock; exec "$@"\\n' > /run/in_other_run
    printf '#!/bin/sh\\nmount --rbind / /run/root; mount -t tmpfs none /run/root/run; mkdir /run/root/run/machineadm
    touch /run/root/run/machineadm/lock; exec chroot /run/root "$@"\\n' > /run/in_chroot
    chmod 755 /run/in_other_run /run/in_chroot; PATH=$PATH:/run
    ${start} setsid env MACHINEADM_RUN=old sleep 31 &
    for i in $(seq 2400); do pgrep -x sleep > found && break; sleep 0.05; done
    [ "$(ps -o pgid= -p $(cat found) | tr -d ' ')" = "$(cat found)" ] || { echo "leads no group" >&2; exit 1; }
  `;
}

/**
 * Runs a script in a PID namespace of its own, so that no process of this machine is ever an orphan of the test. In
 * it, `supervise RUN-ID SCRIPT` and `end_orphans UNFINISHED-RUN…` are the agent.
 */
function isolated(directory: string, script: string): string {
  const agent = `
    supervise() { "${process.execPath}" "${FIXTURES}/supervise.ts" "$@"; }
    end_orphans() { "${process.execPath}" "${FIXTURES}/end-orphans.ts" "$@"; }
    wait_for() { for i in $(seq 200); do [ -s "$1" ] && return; sleep 0.05; done; echo "no $1" >&2; exit 1; }
    alive() { [ -d /proc/$1 ] && ! grep -q '^State:.Z' /proc/$1/status && echo alive || echo ended; }
    mount -t tmpfs none /run
    cd "${directory}"; rm -f *
  `;
  const args = ['--pid', '--fork', '--mount-proc', '--kill-child', 'bash', '-ec', agent + script];
  const result = spawnSync('unshare', args, { encoding: 'utf8', timeout: 300_000 });
  assert.equal(result.status, 0, result.stderr);
  return result.stdout;
}

describe('what a killed run left', { skip: needs('root', 'ps', 'pgrep', 'pkill') }, () => {
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
      end_orphans old > orphans
      echo "after $(alive $(cat leader)) $(alive $(cat child))"
      `,
    );
    assert.equal(out, 'before alive alive\nafter ended ended\n');
    const orphans: readonly EndedOrphan[] = JSON.parse(await readFile(join(directory, 'orphans'), 'utf8'));
    const leader = Number(await readFile(join(directory, 'leader'), 'utf8'));
    assert.deepEqual(orphans, [{ pid: leader, name: 'sh', runId: 'old' }]);
  });

  test('nothing else is touched: commands of other runs, processes without the mark, a mark in a text', () => {
    const out = isolated(
      directory,
      `
      supervise new 'echo $$ > own; sleep 30' & own=$!
      setsid sleep 30 & setsid env NOT_MACHINEADM_RUN=old sleep 30 &
      setsid env TEXT=MACHINEADM_RUN=old sleep 30 &
      wait_for own
      end_orphans old
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
      end_orphans old
      alive $(cat daemon)
      `,
    );
    assert.equal(out, '[]alive\n');
  });

  test('a second call finds nothing', async () => {
    await writeFile(join(directory, 'x'), '');
    assert.equal(isolated(directory, 'end_orphans old'), '[]');
  });

  // What /proc of one machine shows of others on the same kernel, each with the mark of a run that our journal knows.
  const elsewhere: readonly (readonly [place: string, start: string])[] = [
    ['in namespaces of its own with another /run', 'unshare --pid --mount --fork --kill-child in_other_run'],
    ['in a mount namespace with another /run', 'unshare --mount in_other_run'],
    ['in a chroot', 'in_chroot'],
    ['in a chroot with PID and mount namespaces of its own', 'unshare --pid --mount --fork --kill-child in_chroot'],
  ];
  const amongOurFiles: typeof elsewhere = [
    ['in a PID namespace', 'unshare --pid --fork --kill-child'],
    ['in PID and mount namespaces', 'unshare --pid --fork --kill-child --mount-proc'],
    ['in a mount namespace', 'unshare --mount'],
  ];
  for (const [place, start] of elsewhere) {
    test(`a marked command ${place} is left alone`, () => {
      assert.equal(isolated(directory, `${marked(start)}end_orphans old; alive $(cat found)`), '[]alive\n');
    });
  }
  for (const [place, start] of amongOurFiles) {
    test(`a marked command ${place} of its own that works on our files is not ended but refuses the run`, () => {
      const out = isolated(
        directory,
        `${marked(start)}end_orphans old 2> error && exit 1; grep -o "still runs, in other namespaces" error; alive $(cat found)`,
      );
      assert.equal(out, 'still runs, in other namespaces\nalive\n');
    });
  }

  test('a /proc that counts the processes of another namespace names no orphan', () => {
    const out = isolated(
      directory,
      `
      setsid env MACHINEADM_RUN=old sleep 30 & sleep 0.1
      unshare --pid --fork "${process.execPath}" "${FIXTURES}/end-orphans.ts" old
      pgrep -c -x sleep
      `,
    );
    assert.equal(out, '[]1\n');
  });

  test('without the lock in our root nothing is ended', () => {
    const out = isolated(
      directory,
      `
      setsid env MACHINEADM_RUN=old sleep 30 & sleep 0.1
      "${process.execPath}" -e 'import("${ORPHANS}").then(async ({ endOrphans }) => console.log(await endOrphans(new Set(["old"]))))'
      pgrep -c -x sleep
      `,
    );
    assert.equal(out, '[]\n1\n');
  });
});

describe('the service manager of a chroot', { skip: needs('root') }, () => {
  test('is not that of the host, whose /run it sees', () => {
    const asks = `import('${SERVICE_MANAGER}').then(({ serviceManagerKind }) => console.log(serviceManagerKind()))`;
    const script = `
      mount -t tmpfs none /run; mkdir -p /run/systemd/system
      "${process.execPath}" -e "${asks}"
      mount -t tmpfs none /mnt; mkdir /mnt/root /mnt/u /mnt/w
      mount -t overlay -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w none /mnt/root
      for one in proc run dev; do mount --rbind /$one /mnt/root/$one; done
      mkdir -p "/mnt/root${CHECKOUT}"; mount --rbind "${CHECKOUT}" "/mnt/root${CHECKOUT}"
      chroot /mnt/root "${process.execPath}" -e "${asks}"
    `;
    const args = ['--pid', '--mount', '--fork', '--mount-proc', '--kill-child', 'bash', '-ec', script];
    const { status, stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8', timeout: 300_000 });
    assert.equal(status, 0, stderr);
    assert.equal(stdout, 'systemd\nnone\n');
  });
});
