import { RUN_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { textLines } from '@machineadm/document/printable.ts';
import { isRecord } from '@machineadm/document/shape.ts';
import { imagesMissing } from '../../container-runtime/image-failures.ts';
import { missingOf } from '../../container-runtime/image-presence.ts';
import type { Host } from '../../host/seam/host.ts';
import { clusterConfiguration, ownCredential } from '../../kubernetes/upgrade/cluster.ts';
import type { Upgrade } from '../../step/upgrade-order.ts';
import { plain, type UpgradeDesired } from './desired.ts';

const CONFIGURATION = `${RUN_DIRECTORY}/upgrade-images.yaml`;

/**
 * Requires the images that the installed kubeadm lists: without a registry it would try each five times. The list is that
 * of the cluster's configuration, which may have other repositories and tags of etcd and CoreDNS than kubeadm's defaults.
 *
 * @throws MachineadmError `ImageMissing`
 */
export async function requireImages(
  host: Host,
  { socket }: Pick<UpgradeDesired, 'socket'>,
  { to }: Pick<Upgrade, 'to'>,
): Promise<void> {
  const missing = missingOf(await kubeadmList(host, to), await host.cri(socket).images());
  if (missing.length === 0) return;
  throw imagesMissing(
    `images of Kubernetes ${plain(to)} are missing, and there is no registry to pull them from`,
    missing,
    [],
    'Add an archive that holds them to images.archives ("machineadm images list" prints all that the document needs).',
  );
}

/** Empty where kubeadm has no list: then it decides itself. */
async function kubeadmList(host: Host, to: string): Promise<readonly string[]> {
  const configuration = await clusterConfiguration(await ownCredential(host, true));
  const content = JSON.stringify({ ...(isRecord(configuration) ? configuration : {}), kubernetesVersion: to });
  await host.writeFile({ path: CONFIGURATION, content, mode: 0o600, directoryMode: 0o755 });
  try {
    const args = ['config', 'images', 'list', `--config=${CONFIGURATION}`];
    const { status, stdout } = await host.query({ program: 'kubeadm', args });
    return status === 0 ? textLines(stdout).map((line) => line.trim()) : [];
  } finally {
    await host.removeFile(CONFIGURATION);
  }
}
