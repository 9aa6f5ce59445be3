import { errorMessage } from '@machineadm/document/errors.ts';
import { KUBEADM_RUN_DIRECTORY } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { Host } from '../host/seam/host.ts';

/**
 * Removes kubeadm's configuration, which contains tokens, once nothing needs it. It is on /run, which is memory. A
 * failure is reported through `warn` only.
 */
export async function wipeKubeadmConfig(host: Host, warn: (message: string) => void): Promise<void> {
  for (const name of (await host.list(KUBEADM_RUN_DIRECTORY)) ?? []) {
    if (!/\.(?:yaml|conf)$/.test(name)) continue;
    try {
      await host.removeFile(`${KUBEADM_RUN_DIRECTORY}/${name}`);
    } catch (error) {
      warn(`${name} could not be wiped: ${errorMessage(error)}`);
    }
  }
}
