import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { lastLine, textLines } from '@machineadm/document/text/printable.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import { isAirGapped, staticPodImages } from '@machineadm/kubeadm/images/needed.ts';
import { IMAGES_LEFT, imagesMissing } from '../../container-runtime/image-failures.ts';
import { missingOf, nameByDigest } from '../../container-runtime/image-presence.ts';
import { sandboxImageOf } from '../../container-runtime/sandbox-image.ts';
import { CriError } from '../../host/cri/client.ts';
import type { CriImage } from '../../host/cri/queries.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { kubeadmConfigPath } from '../../kubernetes/kubeadm/config.ts';
import { runtimeSocket } from '../../kubernetes/runtime-socket.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Execution } from '../../step/index.ts';

const CHECK = 'kubeadm-images/check';
/** gRPC: nothing listens on the socket. */
const UNAVAILABLE = 14;

export interface KubeadmImagesDesired {
  readonly kubernetes: KubernetesModel;
  readonly socket: string;
  /** The document's sandbox image for containerd; undefined = kubeadm's, or an unknown one. */
  readonly sandboxImage: string | undefined;
  readonly managesContainerd: boolean;
}

export interface KubeadmImagesActual {
  /** undefined before kubeadm's configuration is written. */
  readonly wanted: Wanted | undefined;
  /** undefined = the runtime does not answer. */
  readonly present: readonly CriImage[] | undefined;
  readonly isDone: boolean;
}

interface Wanted {
  readonly images: readonly string[];
  /** Why kubeadm did not print its images. */
  readonly problem: string | undefined;
}

/**
 * On a machine without a registry, proves that every image of kubeadm, the sandbox and the document's static pods
 * exists before kubeadm runs: kubeadm would retry each five times, or with `imagePullPolicy: Never` not check at all
 * and wait for minutes for a control plane that never starts (k/k cmd/kubeadm/app/preflight/checks.go, ImagePullCheck).
 * The list is that of the installed kubeadm, for the configuration that it will use. A joining machine gets the
 * repository and the tags from its cluster: there only the sandbox and the static pods are proven.
 */
export const kubeadmImages: FeatureStep<KubeadmImagesDesired, KubeadmImagesActual, KubeadmImagesDesired> = {
  id: 'kubeadm-images',
  section: 'kubernetes',
  isRequested: STAYS,
  leaves: IMAGES_LEFT,

  desired(model, facts) {
    const { kubernetes, containerd } = model;
    if (kubernetes === undefined || kubernetes.exec !== undefined || facts.kubeadm === undefined) return undefined;
    if (!isAirGapped(model)) return undefined;
    return {
      kubernetes,
      socket: runtimeSocket(model, facts),
      sandboxImage: containerd?.sandboxImage,
      managesContainerd: containerd !== undefined,
    };
  },

  async inspect(host, desired, record) {
    if (record.bootstrap === 'done') return { wanted: undefined, present: undefined, isDone: true };
    const wanted = await wantedImages(host, desired);
    const present = await presentImages(host, desired.socket);
    const checked = member(record.notes.get(CHECK), 'images');
    const isSame = Array.isArray(checked) && wanted !== undefined && checked.join() === wanted.images.join();
    const isDone = isSame && present !== undefined && missingOf(wanted.images, present).length === 0;
    return { wanted, present, isDone };
  },

  plan(desired, { wanted, isDone }) {
    if (isDone) return [];
    return [
      {
        id: CHECK,
        summary: `check that ${wanted === undefined ? 'the' : `all ${wanted.images.length}`} images are present that kubeadm and the static pods need`,
        action: 'run',
        scope: 'node',
        ineffective: 'ImageMissing',
        payload: desired,
        ...(wanted === undefined ? { knownAfter: 'kubeadm-config' as const } : {}),
      },
    ];
  },

  async apply(host, { payload }, execution) {
    const wanted = await wantedImages(host, payload);
    if (wanted === undefined) throw notWritten(payload.kubernetes);
    if (wanted.problem !== undefined) {
      execution.warn(`kubeadm did not list the images that it needs, so they were not checked: ${wanted.problem}`);
    }
    await requireAll(host, payload, wanted, execution);
    execution.remember({ images: wanted.images });
  },
};

async function requireAll(
  host: Host,
  desired: KubeadmImagesDesired,
  { images }: Wanted,
  execution: Execution,
): Promise<void> {
  const before = await host.cri(desired.socket).images();
  await nameByDigest(host, desired, missingOf(images, before), execution);
  const present = await host.cri(desired.socket).images();
  const missing = missingOf(images, present);
  if (missing.length === 0) return;
  throw imagesMissing(
    'images that kubeadm or a static pod needs are missing, and there is no registry to pull them from',
    missing,
    missing.flatMap((image) => similar(image, present)),
    'Add an archive that holds them to images.archives ("machineadm images list" prints all that the document needs); or, to allow pulling them, set kubernetes.node.imagePullPolicy: IfNotPresent.',
  );
}

/** Existing images with the same last name: another tag, or another repository. */
function similar(image: string, present: readonly CriImage[]): { readonly source: string; readonly text: string }[] {
  const lastName = (reference: string) => reference.split('@')[0]?.split('/').at(-1)?.split(':')[0];
  return present
    .flatMap(({ tags }) => tags)
    .filter((tag) => lastName(tag) === lastName(image))
    .map((tag) => ({ source: image, text: `there is ${tag} instead` }));
}

async function wantedImages(host: QueryHost, desired: KubeadmImagesDesired): Promise<Wanted | undefined> {
  const { kubernetes } = desired;
  const own = kubernetes.role === 'InitControlPlane' ? await kubeadmList(host) : { images: [], problem: undefined };
  if (own === undefined) return undefined;
  const sandbox = desired.managesContainerd
    ? (desired.sandboxImage ?? (await sandboxImageOf(host, kubernetes)))
    : undefined;
  const pods = (await staticPodImages(kubernetes)).map(({ image }) => image);
  const images = [...own.images, ...(sandbox === undefined ? [] : [sandbox]), ...pods];
  return { images: [...new Set(images)], problem: own.problem };
}

/** With an exact version it works offline (k/k cmd/kubeadm/app/util/version.go); undefined without a configuration. */
async function kubeadmList(host: QueryHost): Promise<Wanted | undefined> {
  const path = kubeadmConfigPath('init');
  if ((await host.stat(path)) === undefined) return undefined;
  const args = ['config', 'images', 'list', `--config=${path}`];
  const { status, stdout, stderr } = await host.query({ program: 'kubeadm', args });
  if (status !== 0) return { images: [], problem: lastLine(stderr) || `status ${status}` };
  return { images: textLines(stdout).map((line) => line.trim()), problem: undefined };
}

async function presentImages(host: QueryHost, socket: string): Promise<readonly CriImage[] | undefined> {
  try {
    return await host.cri(socket).images();
  } catch (error) {
    if (error instanceof CriError && error.code === UNAVAILABLE) return undefined;
    throw error;
  }
}

function notWritten({ role }: KubernetesModel): MachineadmError {
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: `${kubeadmConfigPath('init')} does not exist: its images cannot be checked (${role})`,
    remedy: 'Find the hook that removes it: the step kubeadm-config writes this file, and kubeadm reads it.',
  });
}
