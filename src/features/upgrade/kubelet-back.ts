import type { Host } from '../../host/seam/host.ts';
import { keptKubelet, restoreKubelet } from '../../kubernetes/upgrade/kubelet-kept.ts';
import type { StepRecord } from '../../step/index.ts';

/** The change that gives the kubelet other settings. */
export const KUBELET_CHANGE = 'upgrade-kubelet-settings/run';

/**
 * Puts the previous settings of the kubelet back, as long as the new ones are not proven, and restarts it.
 *
 * @returns whether there was something to put back
 */
export async function kubeletIsBack(host: Host, { record }: { record(step: string): StepRecord }): Promise<boolean> {
  if (record('upgrade-kubelet-settings').done.has(KUBELET_CHANGE)) return false;
  const kept = await keptKubelet(host);
  if (kept === undefined) return false;
  await restoreKubelet(host, kept);
  await host.services.reload();
  await host.services.restart('kubelet');
  return true;
}
