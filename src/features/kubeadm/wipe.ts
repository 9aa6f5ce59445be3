import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import {
  KUBEADM_PATCHES_DIRECTORY,
  KUBEADM_RUN_DIRECTORY,
  OWN_PATCH,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { Host } from '../../host/seam/host.ts';

/**
 * Removes kubeadm's configuration, which contains tokens, once nothing needs it. It is on /run, which is memory. A
 * failure is reported through `warn` only.
 */
export async function wipeKubeadmConfig(host: Host, warn: (message: string) => void): Promise<void> {
  await removeFiles(host, KUBEADM_RUN_DIRECTORY, /\.(?:yaml|conf)$/, warn);
}

/** The same for a machine that is no node any longer, with our patches. Files that a hook put there stay. */
export async function removeKubeadmConfig(host: Host, warn: (message: string) => void): Promise<void> {
  await wipeKubeadmConfig(host, warn);
  await removeFiles(host, KUBEADM_PATCHES_DIRECTORY, OWN_PATCH, warn);
  for (const directory of [KUBEADM_PATCHES_DIRECTORY, KUBEADM_RUN_DIRECTORY]) {
    if ((await host.list(directory))?.length === 0) await host.removeDirectory(directory);
  }
}

async function removeFiles(
  host: Host,
  directory: string,
  names: RegExp,
  warn: (message: string) => void,
): Promise<void> {
  for (const name of (await host.list(directory)) ?? []) {
    if (!names.test(name)) continue;
    try {
      await host.removeFile(`${directory}/${name}`);
    } catch (error) {
      warn(`${name} could not be wiped: ${errorMessage(error)}`);
    }
  }
}
