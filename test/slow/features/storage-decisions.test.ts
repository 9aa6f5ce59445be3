import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { Model, StorageModel } from '@machineadm/document/model/index.ts';
import { disks } from '../../../src/features/storage/disks.ts';
import { filesystems } from '../../../src/features/storage/filesystems.ts';
import { openHost } from '../../../src/host/index.ts';
import { EMPTY_RECORD, type Step } from '../../../src/step/index.ts';
import { decisionRows } from '../../support/decision-table.ts';
import { hostModel } from '../../support/host-model.ts';
import { at, type LoopDevice, loopDevice, partitionCommand } from '../../support/loop-device.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { runStep } from '../../support/run-step.ts';

/** The decision tables of docs/storage.md, row by row, on real block devices: also that a refused one is untouched. */

const INTERRUPTED = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee';
const BUSY = '/srv/busy';

const sh = (command: string): string => execFileSync('sh', ['-ec', command], { encoding: 'utf8' });

/** How what the tables speak of comes to be on a device; the second: the part of it that can be in use. */
const ON_DISK: Readonly<Record<string, (loop: LoopDevice) => string>> = {
  blank: () => '',
  'matching table': ({ path }) =>
    `${partitionCommand(path, 'label: gpt\\n\\nsize=20MiB, name=etcd\\ntype=L\\n')}; mkfs.ext4 -q ${path}p1`,
  'different table': ({ path }) => `${partitionCommand(path, 'label: dos\\n\\nsize=40MiB\\n')}; mkfs.ext4 -q ${path}p1`,
  'other signature': ({ path }) => `mkfs.ext4 -q ${path}`,
};

const ON_DEVICE: Readonly<Record<string, (loop: LoopDevice) => string>> = {
  blank: () => '',
  'same type and label': ({ path }) => `mkfs.ext4 -q -L etcd ${path}`,
  'same type, other label': ({ path }) => `mkfs.ext4 -q -L other ${path}`,
  'other signature': ({ path }) => `mkfs.ext2 -q -L etcd ${path}`,
  'interrupted mkfs': ({ path }) => `mkfs.ext4 -q -U ${INTERRUPTED} ${path}`,
};

/** Prepares a device and, where the row says so, mounts what is on it. */
function prepare(how: (loop: LoopDevice) => string, loop: LoopDevice, finding: string, inUse: boolean): void {
  sh(how(loop) || 'true');
  if (!inUse) return;
  mkdirSync(BUSY, { recursive: true });
  // What is blank can be in use only when its signature went away under its users.
  if (finding === 'blank')
    sh(`mkfs.ext4 -q ${loop.path}; mount ${loop.path} ${BUSY}; wipefs -q --all --force ${loop.path}`);
  else sh(`mount ${finding.endsWith('table') ? loop.partition(1) : loop.path} ${BUSY}`);
}

const signatures = (loop: LoopDevice): string => sh(`wipefs -p ${loop.path}; sfdisk -d ${loop.path} 2>&1 || true`);

inThrowAwayMachine(import.meta.filename, () => {
  const host = openHost({ runId: 'test' });
  const storage = (part: Partial<StorageModel>): Model =>
    hostModel({ storage: { disks: [], filesystems: [], mounts: [], ...part } });

  /** Runs a step on a device and asserts the outcome that a row names. */
  async function expect<D, A, P>(
    step: Step<D, A, P>,
    model: Model,
    loop: LoopDevice,
    outcome: string,
    notes: ReadonlyMap<string, unknown> = new Map(),
  ): Promise<void> {
    const before = signatures(loop);
    const record = { ...EMPTY_RECORD, notes };
    if (outcome.startsWith('refuse ')) {
      await assert.rejects(runStep(step, host, model, { record }), { reason: outcome.slice('refuse '.length) });
      assert.equal(signatures(loop), before, 'untouched');
      return;
    }
    const run = await runStep(step, host, model, { record });
    assert.equal(run.changes.length, outcome === 'reuse' ? 0 : 1);
    assert.deepEqual(run.left, []);
    if (outcome === 'reuse') assert.equal(signatures(loop), before, 'untouched');
    else assert.notEqual(signatures(loop), before, 'made anew');
  }

  describe('disks', () => {
    for (const { finding, conditions, outcome } of decisionRows('disks')) {
      const [wipe = false, inUse = false] = conditions;
      test(`${finding}, wipe ${wipe}, in use ${inUse}: ${outcome}`, async () => {
        using loop = loopDevice(64);
        prepare(ON_DISK[finding] ?? assert.fail(finding), loop, finding, inUse);
        const partitions = [
          { label: 'etcd', size: { kind: 'bytes', bytes: 20 * 2 ** 20 }, type: 'linux' },
          { label: undefined, size: { kind: 'rest' }, type: 'linux' },
        ] as const;
        const model = storage({ disks: [{ device: at(loop.path), table: 'gpt', wipe, partitions }] });
        await expect(disks, model, loop, outcome);
      });
    }
  });

  describe('file systems', () => {
    for (const { finding, conditions, outcome } of decisionRows('filesystems')) {
      const [overwrite = false, replaceable = false, inUse = false] = conditions;
      test(`${finding}, overwrite ${overwrite}, replace ${replaceable}, in use ${inUse}: ${outcome}`, async () => {
        using loop = loopDevice(32);
        prepare(ON_DEVICE[finding] ?? assert.fail(finding), loop, finding, inUse);
        const replace = replaceable ? ['ext2', 'ext4'] : [];
        const filesystem = {
          device: at(loop.path),
          type: 'ext4',
          label: 'etcd',
          options: [],
          overwrite,
          replace,
        } as const;
        const notes = new Map([[`filesystems/${loop.path}`, { uuid: INTERRUPTED, made: false }]]);
        await expect(filesystems, storage({ filesystems: [filesystem] }), loop, outcome, notes);
      });
    }
  });
}, ['sfdisk', 'mkfs.ext4', 'loop devices']);
