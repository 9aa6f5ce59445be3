import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'node:test';
import type { FilesystemModel, StorageModel } from '@machineadm/document/model/index.ts';
import { disks } from '../../../src/features/storage/disks.ts';
import { filesystems } from '../../../src/features/storage/filesystems.ts';
import { mounts } from '../../../src/features/storage/mounts.ts';
import { openHost } from '../../../src/host/index.ts';
import type { Host } from '../../../src/host/seam/host.ts';
import { EMPTY_RECORD, type Step } from '../../../src/step/index.ts';
import { facts } from '../../support/facts.ts';
import { hostModel } from '../../support/host-model.ts';
import { killPoints } from '../../support/kill-points.ts';
import { at, type LoopDevice, loopDevice, partitionCommand } from '../../support/loop-device.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';
import { planned, runStep } from '../../support/run-step.ts';

const MIB = 2 ** 20;
const TARGET = '/srv/growing';

const sh = (command: string): string => execFileSync('sh', ['-ec', command], { encoding: 'utf8' }).trim();

/** The disk becomes larger, or smaller, under its users. */
function resize(loop: LoopDevice, mebibytes: number): void {
  sh(`truncate -s ${mebibytes}M "$(losetup -n -O BACK-FILE ${loop.path})"; losetup -c ${loop.path}`);
}

class Killed extends Error {}

inThrowAwayMachine(import.meta.filename, () => {
  const real = openHost({ runId: 'test' });
  const withoutSystemd = { facts: facts({ serviceManager: 'none' }) };

  const document = (path: string, type: FilesystemModel['type'], grow: boolean) => {
    const storage: StorageModel = {
      disks: [
        {
          device: at(path),
          table: 'gpt',
          wipe: false,
          partitions: [
            { label: 'fixed', size: { kind: 'bytes', bytes: 16 * MIB }, type: 'linux' },
            { label: 'data', size: { kind: 'rest' }, type: 'linux', ...(grow ? { grow } : {}) },
          ],
        },
      ],
      filesystems: [
        {
          device: at(path, 2),
          type,
          label: 'data',
          options: [],
          overwrite: false,
          replace: [],
          ...(grow ? { grow } : {}),
        },
      ],
      mounts: [{ device: at(path, 2), path: TARGET, type: undefined, options: [] }],
    };
    return hostModel({ storage });
  };

  async function provision(model: ReturnType<typeof document>, host: Host = real): Promise<string[]> {
    const made: string[] = [];
    const run = async <D, A, P>(step: Step<D, A, P>) => {
      const { changes, left } = await runStep(step, host, model, withoutSystemd);
      assert.deepEqual(left, []);
      made.push(...changes.map(({ summary }) => summary));
    };
    await run(disks);
    await run(filesystems);
    await run(mounts);
    return made;
  }

  const remarks = async <D, A, P>(step: Step<D, A, P>, model: ReturnType<typeof document>) => {
    const desired = step.desired(model, withoutSystemd.facts);
    assert.ok(desired !== undefined);
    const actual = await step.inspect(real, desired, EMPTY_RECORD);
    return (step.remarks?.(desired, EMPTY_RECORD, actual) ?? []).filter((remark) => typeof remark === 'string');
  };

  for (const [type, before, after] of [
    ['ext4', 128, 256],
    ['xfs', 400, 800],
    ['btrfs', 256, 512],
  ] as const) {
    test(`${type} grows with its partition and its disk, while it is mounted, and keeps its data`, {
      skip: needs(`mkfs.${type}`, ...(type === 'ext4' ? (['CAP_SYS_RESOURCE'] as const) : [])),
    }, async () => {
      using loop = loopDevice(before);
      await provision(document(loop.path, type, false));
      sh(`head -c 5M /dev/urandom >${TARGET}/data; sha256sum ${TARGET}/data >${TARGET}/sum`);
      const identity = () =>
        sh(`sfdisk --json ${loop.path} | grep -E '"(uuid|name|start|id)"'; blkid -p -s UUID ${loop.path}p2`);
      const table = identity();
      resize(loop, after);

      // Without grow it is reported, and nothing is done.
      assert.deepEqual(await provision(document(loop.path, type, false)), []);
      assert.match(
        (await remarks(disks, document(loop.path, type, false)))[0] ?? '',
        /grew: \d+ MiB are behind its part/,
      );

      const model = document(loop.path, type, true);
      const [planOfDisks] = await planned(disks, real, model, withoutSystemd);
      assert.match(planOfDisks?.summary ?? '', /grow partition 2 from \d+ MiB to \d+ MiB, and keep its data$/);
      const [planOfFilesystem] = await planned(filesystems, real, model, withoutSystemd);
      assert.equal(planOfFilesystem?.knownAfter, 'disks');
      const made = await provision(model);
      assert.equal(made.length, 2, made.join('\n'));
      assert.match(made[1] ?? '', new RegExp(`grow ${type} from \\d+ MiB to \\d+ MiB, and keep its data$`));
      assert.ok(Number(sh(`df -B1M --output=size ${TARGET} | tail -1`)) > before, 'it has the room');
      sh(`cd / && sha256sum -c ${TARGET}/sum`);
      assert.equal(identity(), table);
      assert.deepEqual(await provision(model), [], 'a second run does nothing');
      assert.deepEqual(await remarks(disks, model), []);

      // One that is not mounted grows as well, and is not mounted afterwards.
      resize(loop, after + 128);
      await runStep(disks, real, model, withoutSystemd);
      sh(`umount ${TARGET}`);
      assert.deepEqual((await runStep(filesystems, real, model, withoutSystemd)).left, []);
      assert.equal(sh(`lsblk -n -o MOUNTPOINT ${loop.path}p2`), '');
      sh(`mount ${loop.path}p2 ${TARGET}; cd / && sha256sum -c ${TARGET}/sum`);
    });
  }

  test('killed before or after any change, the next run ends where an undisturbed one does, with the data', {
    skip: needs('mkfs.btrfs'),
  }, async () => {
    // The dump, the table, the kernel, the mount, the growth, the end of the mount: before or after each.
    for (const point of killPoints(12, 4)) {
      const number = Math.ceil(point / 2);
      const moment = point % 2 === 1 ? 'before' : 'after';
      using loop = loopDevice(160);
      await provision(document(loop.path, 'btrfs', false));
      sh(`echo kept >${TARGET}/data; umount ${TARGET}`);
      resize(loop, 320);
      let count = 0;
      const mortal: Host = {
        ...real,
        run: async (command) => {
          count += 1;
          if (count === number && moment === 'before') throw new Killed();
          const result = await real.run(command);
          if (count === number) throw new Killed();
          return result;
        },
      };
      const model = document(loop.path, 'btrfs', true);
      await assert.rejects(provision(model, mortal), Killed);
      await provision(model);
      assert.deepEqual(await provision(model), []);
      assert.equal(sh(`cat ${TARGET}/data`), 'kept', `killed ${moment} command ${number}`);
      assert.ok(Number(sh(`df -B1M --output=size ${TARGET} | tail -1`)) > 160);
    }
  });

  describe('is refused, and nothing is changed, where', () => {
    test('another partition follows the one that is to grow', async () => {
      using loop = loopDevice(64);
      const script = `label: gpt\\n\\nstart=40MiB, size=16MiB, type=L, name=fixed\\nstart=1MiB, size=30MiB, type=L, name=data\\n`;
      sh(partitionCommand(loop.path, script));
      resize(loop, 128);
      const before = sh(`sfdisk -d ${loop.path}`);
      await assert.rejects(runStep(disks, real, document(loop.path, 'ext4', true), withoutSystemd), {
        reason: 'GrowthFailed',
        message: /another partition follows the one that is to grow/,
      });
      assert.equal(sh(`sfdisk -d ${loop.path}`), before);
    });

    test('the device became smaller than its file system', async () => {
      using loop = loopDevice(128);
      sh(`mkfs.ext4 -q -L data ${loop.path}`);
      resize(loop, 96);
      const [of] = document(loop.path, 'ext4', true).host.storage.filesystems;
      assert.ok(of !== undefined);
      const model = hostModel({ storage: { disks: [], filesystems: [{ ...of, device: at(loop.path) }], mounts: [] } });
      await assert.rejects(runStep(filesystems, real, model, withoutSystemd), {
        reason: 'GrowthFailed',
        message: /its device became smaller/,
      });
    });
  });
}, ['sfdisk', 'mkfs.ext4', 'loop devices']);
