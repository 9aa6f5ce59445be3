import { setTimeout as pause } from 'node:timers/promises';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { RUN_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import { isRecord } from '@machineadm/document/values/shape.ts';
import { imagesMissing } from '../../container-runtime/image-failures.ts';
import { missingOf } from '../../container-runtime/image-presence.ts';
import { pullFailure } from '../../container-runtime/pull-failures.ts';
import { sandboxImageOf } from '../../container-runtime/sandbox-image.ts';
import { CriError } from '../../host/cri/client.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { clusterConfiguration, ownCredential } from '../../kubernetes/upgrade/cluster.ts';
import type { Execution } from '../../step/index.ts';
import type { Upgrade } from '../../step/upgrade-order.ts';
import { plain, type UpgradeDesired } from './desired.ts';

const CONFIGURATION = `${RUN_DIRECTORY}/upgrade-images.yaml`;
/** Of one image; kubeadm makes five. */
const ATTEMPTS = 3;
const PAUSE_MS = 1_000;

/**
 * Brings the images of the new version while the static pods and the kubelet are as they were: those that the installed kubeadm
 * lists for a control plane, by the cluster's configuration, which may have other repositories and tags than kubeadm's
 * defaults; and that of sandboxes, which containerd would miss at the next start of a pod. Only a pull of containerd uses its
 * mirrors and credentials.
 *
 * @throws MachineadmError `ImageMissing` without a registry, else the reason why containerd could not pull one
 */
export async function bringImages(
  host: Host,
  desired: UpgradeDesired,
  upgrade: Pick<Upgrade, 'to' | 'ignorePreflightErrors'>,
  execution: Execution,
): Promise<void> {
  const listed = desired.isControlPlane ? await kubeadmList(host, upgrade.to) : [];
  const sandbox = await sandboxImage(host, desired);
  const needed = [...new Set([...listed, ...(sandbox === undefined ? [] : [sandbox])])];
  const missing = needed.length === 0 ? [] : missingOf(needed, await host.cri(desired.socket).images());
  if (missing.length === 0) return;
  if (desired.isAirGapped) {
    throw imagesMissing(
      `images of Kubernetes ${plain(upgrade.to)} are missing, and there is no registry to pull them from`,
      missing,
      [],
      'Add an archive that holds them to images.archives ("machineadm images list" prints all that the document needs).',
    );
  }
  if (isPullIgnored(desired, upgrade)) return;
  for (const image of missing) await pull(host, desired.socket, image, execution);
}

/** Whether kubeadm may not check either: the kubelet has credentials that containerd does not have. */
export function isPullIgnored(
  { kubernetes }: Pick<UpgradeDesired, 'kubernetes'>,
  { ignorePreflightErrors = [] }: Pick<Upgrade, 'ignorePreflightErrors'>,
): boolean {
  const ignored = [...kubernetes.kubeadm.ignorePreflightErrors, ...ignorePreflightErrors];
  return ignored.some((name) => ['all', 'imagepull'].includes(name.toLowerCase()));
}

/** The image of sandboxes that the document has containerd use; undefined: containerd keeps the one that it has. */
export async function sandboxImage(
  host: QueryHost,
  { sandbox, kubernetes }: Pick<UpgradeDesired, 'sandbox' | 'kubernetes'>,
): Promise<string | undefined> {
  if (!sandbox.isManaged) return undefined;
  return sandbox.image ?? (await sandboxImageOf(host, kubernetes));
}

async function pull(host: Host, socket: string, image: string, { signal, waitingFor }: Execution): Promise<void> {
  waitingFor(`the pull of ${image}`);
  for (let attempt = 1; ; attempt += 1) {
    try {
      await host.pullImage(socket, image, signal);
      return waitingFor(undefined);
    } catch (error) {
      if (!(error instanceof CriError)) throw error;
      const { reason, remedy, retryable, text } = pullFailure(error);
      if (!retryable || attempt === ATTEMPTS) {
        throw new MachineadmError({
          ...{ reason, remedy, retryable },
          summary: `This run did not start kubeadm upgrade: containerd could not pull ${image}.`,
          evidence: [{ source: 'CRI PullImage', text }],
          // Under kubeadm the same reasons have its exit code.
          exit: 'HostStepFailed',
          cause: error,
        });
      }
      await pause(PAUSE_MS, undefined, { signal });
    }
  }
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
