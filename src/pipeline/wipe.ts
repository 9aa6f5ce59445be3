import type { Host } from '../host/seam/host.ts';
import { wipeScript } from '../steps/hook-single-script.ts';
import { wipeKubeadmConfig } from '../steps/kubeadm-wipe.ts';
import type { Conclusion } from './conclusion.ts';

/** Removes what a run that ended so leaves no use for, and that may hold secrets. */
export async function wipeAfterRun(
  host: Host,
  command: string,
  { outcome, exit }: Pick<Conclusion, 'outcome' | 'exit'>,
  warn: (message: string) => void,
): Promise<void> {
  if (outcome !== 'Succeeded' || command !== 'provision') return;
  await wipeKubeadmConfig(host, warn);
  // A hook that failed after the bootstrap runs again, in the shell of its script.
  if (exit === 'Success') await wipeScript(host);
}
