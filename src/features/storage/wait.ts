import { setTimeout as sleep } from 'node:timers/promises';
import type { DeviceSelector } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { formatDuration } from '@machineadm/document/text/units.ts';
import { type BlockDevice, describeDevice, findDevice } from '../../block-devices/device.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { Execution, UnmetRequirement } from '../../step/index.ts';

const ABSENT_REMEDY =
  'Attach the disk, correct the device in the document ("lsblk -o +SERIAL,LABEL"), or raise its timeout.';
const POLL_MS = 500;
/** How long udev may take to handle what is queued. */
const SETTLE_SECONDS = 30;

/**
 * Waits until a device is there: volumes are attached while a machine boots. Throws `DeviceMissing` after the
 * selector's `waitMs`, or what `findDevice` throws.
 * @param place where the document names it: `host.storage.disks[0].device`
 */
export async function waitForDevice(
  host: QueryHost,
  selector: DeviceSelector,
  place: string,
  execution: Execution,
): Promise<BlockDevice> {
  const until = performance.now() + selector.waitMs;
  try {
    for (let settled = false; ; settled = true) {
      const device = await findDevice(host, selector);
      if (device !== undefined) return device;
      const left = until - performance.now();
      if (left <= 0) throw await missing(host, selector, place);
      execution.waitingFor(`the device ${describeDevice(selector)} to appear (${place})`);
      if (!settled) await settleDevices(host);
      await sleep(Math.min(POLL_MS, left), undefined, { signal: execution.signal });
    }
  } finally {
    execution.waitingFor(undefined);
  }
}

/**
 * What is known of an absent device before a run, which waits for it: volumes are attached late. `provision` refuses only if
 * the document says not to wait.
 */
export function absentDevice(selector: DeviceSelector, place: string, change: string): UnmetRequirement {
  const waits = selector.waitMs > 0;
  const name = describeDevice(selector);
  const next = waits ? `provision waits ${formatDuration(selector.waitMs)} for it, and then fails` : 'provision fails';
  return {
    reason: 'DeviceMissing',
    what: `the device ${name} (${place}) does not exist now; ${next}`,
    remedy: ABSENT_REMEDY,
    field: place,
    change,
    scope: 'node',
    ...(waits ? { severity: 'warning' } : {}),
  };
}

/** Waits for udev, if it runs: afterwards its links and its data about a device are right. */
export async function settleDevices(host: QueryHost): Promise<void> {
  await host.query({
    program: 'udevadm',
    args: ['settle', `--timeout=${SETTLE_SECONDS}`],
    timeoutMs: (SETTLE_SECONDS + 5) * 1000,
  });
}

async function missing(host: QueryHost, selector: DeviceSelector, place: string): Promise<MachineadmError> {
  const { stdout } = await host.query({
    program: 'lsblk',
    args: ['--list', '--paths', '--noheadings', '--output', 'NAME,TYPE,SIZE'],
  });
  const present = stdout.trim().split('\n').slice(0, 20);
  return new MachineadmError({
    reason: 'DeviceMissing',
    summary: `The device ${describeDevice(selector)} (${place}) did not appear within ${formatDuration(selector.waitMs)}.`,
    remedy: ABSENT_REMEDY,
    evidence: present.map((text) => ({ source: 'lsblk', text: text.trim() })),
    retryable: true,
  });
}
