import { setTimeout as sleep } from 'node:timers/promises';
import type { HookGroup } from '@machineadm/document/model/index.ts';
import { type PackageLock, packageLockIn } from '@machineadm/document/outcomes/package-lock.ts';
import { formatDuration } from '@machineadm/document/text/units.ts';
import { lockHolder } from '../../host/linux/lock-holder.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { Execution } from '../../step/index.ts';

/** Entries of a group that failed and run again: `host.hooks.*.retry`. */
export interface Retries {
  /**
   * Waits before an entry that failed runs again. False: it does not, because of its status, the number of its attempts, or
   * the time that is left for the group.
   */
  again(ended: { readonly entry: number; readonly status: number }, leftMs: number): Promise<boolean>;
}

export function retriesOf(id: string, phase: string, group: HookGroup, execution: Execution): Retries {
  const { retry, commands } = group;
  const failures = new Map<number, number>();
  return {
    async again({ entry, status }, leftMs) {
      if (retry === undefined || group.onError !== 'Fail') return false;
      if (retry.on !== undefined && !retry.on.includes(status)) return false;
      const failed = (failures.get(entry) ?? 0) + 1;
      failures.set(entry, failed);
      const pauseMs = retry.delayMs * retry.backoff ** (failed - 1);
      if (failed >= retry.attempts || pauseMs >= leftMs) return false;
      const what = `entry ${entry} of ${commands.length} of the hook ${phase}`;
      const next = `attempt ${failed + 1} of ${retry.attempts}`;
      execution.output(id, `${what} failed with status ${status}; ${next} in ${formatDuration(pauseMs)}`);
      execution.waitingFor(`${next} of ${what}`);
      await sleep(pauseMs, undefined, { signal: execution.signal });
      return true;
    },
  };
}

/** The lock of a package manager that a failed entry met, with its holder where it can be found. */
export async function packageLockOf(host: QueryHost, lines: readonly string[]): Promise<PackageLock | undefined> {
  const lock = packageLockIn(lines);
  if (lock?.path === undefined || lock.pid !== undefined) return lock;
  return { ...lock, ...(await lockHolder(host, lock.path).catch(() => undefined)) };
}
