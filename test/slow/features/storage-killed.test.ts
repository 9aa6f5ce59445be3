import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { StorageModel } from '@machineadm/document/model/index.ts';
import { disks } from '../../../src/features/storage/disks.ts';
import { filesystems } from '../../../src/features/storage/filesystems.ts';
import { mkfsArguments, mkfsProgram } from '../../../src/features/storage/mkfs.ts';
import { mounts } from '../../../src/features/storage/mounts.ts';
import { openHost } from '../../../src/host/index.ts';
import type { Host } from '../../../src/host/seam/host.ts';
import { EMPTY_RECORD, type Step } from '../../../src/step/index.ts';
import { facts } from '../../support/facts.ts';
import { hostModel } from '../../support/host-model.ts';
import { killPoints } from '../../support/kill-points.ts';
import { at, loopDevice } from '../../support/loop-device.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';
import { planned, runStep } from '../../support/run-step.ts';

const UUID = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee';
const KILLS = [
  ['pwrite64', 1],
  ['pwrite64', 20],
  ['pwrite64', 40],
  ['fsync', 1],
  ['fsync', 2],
] as const;
const TARGET = '/srv/killed';

const sh = (command: string): string => execFileSync('sh', ['-ec', command], { encoding: 'utf8' });

/** How the power goes: instead of the nth change to the machine, or right behind it. */
interface Kill {
  readonly at: number;
  readonly moment: 'before' | 'after';
}

class Killed extends Error {}

/** The real machine, until the kill. `changes` counts what was changed or would have been. */
function mortal(host: Host, kill: Kill | undefined): { readonly host: Host; readonly changes: () => number } {
  let count = 0;
  const change = async <T>(work: () => Promise<T>): Promise<T> => {
    count += 1;
    if (count === kill?.at && kill.moment === 'before') throw new Killed();
    const result = await work();
    if (count === kill?.at) throw new Killed();
    return result;
  };
  const wrapped: Host = {
    ...host,
    writeFile: (file) => change(() => host.writeFile(file)),
    makeDirectory: (path, mode) => change(() => host.makeDirectory(path, mode)),
    run: (command) => change(() => host.run(command)),
  };
  return { host: wrapped, changes: () => count };
}

inThrowAwayMachine(import.meta.filename, () => {
  const real = openHost({ runId: 'test' });
  const withoutSystemd = facts({ serviceManager: 'none' });

  const document = (path: string) => {
    const filesystem = { type: 'ext4', label: 'etcd', options: [], overwrite: false, replace: [] } as const;
    const storage: StorageModel = {
      disks: [
        {
          device: at(path),
          table: 'gpt',
          wipe: false,
          partitions: [{ label: 'etcd', size: { kind: 'rest' }, type: 'linux' }],
        },
      ],
      filesystems: [{ device: at(path, 1), ...filesystem }],
      mounts: [{ device: at(path, 1), path: TARGET, type: undefined, options: ['noatime'] }],
    };
    return hostModel({ storage });
  };

  /** Runs the three steps on a journal's notes, as far as the machine lives; says how many changes it made. */
  async function provision(path: string, notes: Map<string, unknown>, kill?: Kill): Promise<number> {
    const { host, changes } = mortal(real, kill);
    const model = document(path);
    const run = <D, A, P>(step: Step<D, A, P>) =>
      runStep(step, host, model, {
        facts: withoutSystemd,
        record: { ...EMPTY_RECORD, notes },
        seen: { notes, warnings: [] },
      });
    try {
      await run(disks);
      await run(filesystems);
      await run(mounts);
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
    }
    return changes();
  }

  /** A new disk and an fstab of nobody's. */
  async function onNewDisk(work: (path: string) => Promise<void>): Promise<void> {
    using loop = loopDevice(48);
    writeFileSync('/etc/fstab', '# nothing\n');
    await work(loop.path);
  }

  test('killed before or after any change, the next run ends where an undisturbed one does', async () => {
    let steps = 0;
    await onNewDisk(async (path) => {
      steps = await provision(path, new Map());
    });
    assert.ok(steps >= 5, `${steps} changes`); // sfdisk, partx, mkfs, fstab, mount point, mount
    for (const point of killPoints(2 * steps, 5)) {
      const number = Math.ceil(point / 2);
      const moment = point % 2 === 1 ? 'before' : 'after';
      await onNewDisk(async (path) => {
        const notes = new Map<string, unknown>();
        await provision(path, notes, { at: number, moment });
        await provision(path, notes);
        const left = await planned(mounts, real, document(path), { facts: withoutSystemd });
        assert.deepEqual(left, [], `killed ${moment} change ${number}`);
        assert.match(sh(`findmnt -n -o SOURCE,FSTYPE -M ${TARGET}`), new RegExp(`^${path}p1 +ext4`));
        assert.equal(sh('grep -c machineadm /etc/fstab').trim(), '1');
      });
    }
  });

  describe('a mkfs killed at its nth write or flush', () => {
    for (const [type, size] of [
      ['ext4', 64],
      ['xfs', 320],
      ['btrfs', 128],
    ] as const) {
      test(`of ${type} is made again`, { skip: needs('strace', `mkfs.${type}`) }, async (context) => {
        const program = mkfsProgram(type);
        const findings = new Set<string>();
        // Superblocks are written last, so blkid sees none of this; remains that it sees are a row of the decision table.
        for (const [call, number] of KILLS) {
          using loop = loopDevice(size);
          const filesystem = { device: at(loop.path), type, label: 'etcd', options: [], overwrite: false, replace: [] };
          const mkfs = [program, ...mkfsArguments(filesystem, UUID, loop.path)];
          const inject = `inject=${call}:signal=SIGKILL:when=${number}`;
          const killed = spawnSync('strace', ['-f', '-o', '/dev/null', '-e', `trace=${call}`, '-e', inject, ...mkfs]);
          assert.equal(killed.signal, 'SIGKILL');
          findings.add(sh(`wipefs -p ${loop.path} | tail -n +2`) === '' ? 'nothing' : 'a signature');
          const model = hostModel({ storage: { disks: [], filesystems: [filesystem], mounts: [] } });
          const notes = new Map([[`filesystems/${loop.path}`, { uuid: UUID, made: false }]]);
          const { changes, left } = await runStep(filesystems, real, model, { record: { ...EMPTY_RECORD, notes } });
          assert.deepEqual([changes.length, left.length], [1, 0], `killed at ${call} ${number}`);
          sh(`mkdir -p /srv/whole; mount ${loop.path} /srv/whole; umount /srv/whole`);
        }
        context.diagnostic(`${type}: left ${[...findings].join(' or ')}`);
      });
    }
  });
}, ['sfdisk', 'mkfs.ext4', 'loop devices']);
