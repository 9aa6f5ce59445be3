import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { outOfMemoryKills, outOfMemorySince } from '../../../src/host/linux/out-of-memory.ts';
import { needs } from '../../support/needs.ts';

const FIXTURE = resolve(import.meta.dirname, '../../fixtures/host/supervise.ts');
const LIMIT_BYTES = 400 * 1024 * 1024;

/** A control group of this test below that of this process, with a limit of memory; undefined where there can be none. */
function limitedGroup(): string | undefined {
  const line =
    readFileSync('/proc/self/cgroup', 'utf8')
      .split('\n')
      .find((one) => /^\d+:memory:|^0::/.test(one)) ?? '';
  const path = line.split(':')[2] ?? '/';
  const isVersion1 = !line.startsWith('0:');
  const group = join('/sys/fs/cgroup', isVersion1 ? 'memory' : '', path, `machineadm-test-${process.pid}`);
  try {
    mkdirSync(group);
    writeFileSync(join(group, isVersion1 ? 'memory.limit_in_bytes' : 'memory.max'), String(LIMIT_BYTES));
    return group;
  } catch {
    if (existsSync(group)) rmdirSync(group);
    return undefined;
  }
}

describe('a command that the kernel kills for lack of memory', () => {
  const group = needs('root') === false ? limitedGroup() : undefined;

  test('is reported as such, with the counter of the control group', {
    skip: needs('root', group === undefined ? { unavailable: 'a control group for memory' } : 'root'),
  }, () => {
    assert.ok(group !== undefined);
    try {
      const hog = 'echo begins; exec tail /dev/zero';
      const script = `echo $$ >${group}/cgroup.procs; exec "$0" "$@"`;
      const run = spawnSync('sh', ['-c', script, process.execPath, FIXTURE, 'run', hog], {
        encoding: 'utf8',
        timeout: 300_000,
      });
      assert.equal(run.status, 1, run.stderr);
      assert.equal(run.stdout, 'begins\n');
      assert.match(run.stderr, /sh was killed by SIGKILL: out of memory\./);
      assert.match(run.stderr, /oom_kill 1, before the command 0/);
      assert.match(run.stderr, /MemoryMax=/);
    } finally {
      rmdirSync(group);
    }
  });
});

describe("the kernel's counter", () => {
  const files = {
    'version 1': 'memory/a/b/memory.oom_control',
    'version 2': 'a/b/memory.events',
    both: 'unified/a/b/memory.events',
  };
  for (const [version, file] of Object.entries(files)) {
    test(`is read with control groups of ${version}`, () => {
      const root = mkdtempSync(join(tmpdir(), 'machineadm-cgroup-'));
      try {
        const kernel = { proc: join(root, 'proc'), cgroups: join(root, 'cgroups') };
        mkdirSync(join(kernel.proc, 'self'), { recursive: true });
        writeFileSync(
          join(kernel.proc, 'self/cgroup'),
          version === 'version 1' ? '4:cpu,memory:/a/b\n0::/\n' : '0::/a/b\n',
        );
        assert.equal(outOfMemoryKills(kernel), undefined);
        const counter = join(kernel.cgroups, file);
        mkdirSync(join(counter, '..'), { recursive: true });
        writeFileSync(counter, 'low 0\noom 4\noom_kill 3\noom_group_kill 9\n');
        const before = outOfMemoryKills(kernel);
        assert.deepEqual(before, { file: counter, kills: 3 });
        assert.equal(outOfMemorySince(before), undefined);
        writeFileSync(counter, 'low 0\noom 4\noom_kill 5\n');
        assert.deepEqual(outOfMemorySince(before), { source: counter, text: 'oom_kill 5, before the command 3' });
      } finally {
        rmSync(root, { recursive: true });
      }
    });
  }
});
