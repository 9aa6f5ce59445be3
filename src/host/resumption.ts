import type { Facts } from './facts.ts';
import type { Host } from './host.ts';

/** How a run that was cut off is gone on with at the next boot. */
export interface Resumption {
  /** Has this command started at every boot from now on. Throws `ResumptionNotArranged`. */
  arrange(command: readonly string[]): Promise<void>;
  /** No more. Throws `ResumptionNotArranged`. */
  forget(): Promise<void>;
}

/**
 * undefined on Linux, where the image or whoever starts machineadm has a unit for that (packaging/systemd). Windows has
 * nothing that starts again what a boot cut off: cloudbase-init and Setup only do so when they are asked to in time.
 */
export async function resumptionOf(host: Host, platform: Facts['platform']): Promise<Resumption | undefined> {
  if (platform !== 'windows') return undefined;
  const { registerResumeTask, removeResumeTask } = await import('./windows/resume-task.ts');
  return { arrange: (command) => registerResumeTask(host, command), forget: () => removeResumeTask(host) };
}
