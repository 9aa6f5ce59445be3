import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { evidenceFrom, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { type KubeadmPod, staticPodPath } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { RUN_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import type { ApiServerManifest } from '@machineadm/kubeadm/api-server/manifest.ts';
import { patches } from '@machineadm/kubeadm/patches.ts';
import { Problems } from '@machineadm/kubeadm/problems.ts';
import { kubeadmTarget } from '@machineadm/kubeadm/version.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { PRIVATE_FILES } from '../../host/seam/queries.ts';

/** A private root directory for kubeadm, in memory: its output is read, and the real files stay untouched. */
const ROOT = `${RUN_DIRECTORY}/api-server`;
/** The path inside. */
const CONFIG = '/kubeadm.yaml';
const PATCHES = '/patches';

const TIMEOUT_MS = 60_000;

/** The same path, seen from the machine. */
const RECONFIGURATION = `${ROOT}${CONFIG}`;

/** The phase of `kubeadm init` that writes the manifest of a static pod. */
const PHASES: Readonly<Record<KubeadmPod, readonly string[]>> = {
  etcd: ['etcd', 'local'],
  'kube-apiserver': ['control-plane', 'apiserver'],
  'kube-controller-manager': ['control-plane', 'controller-manager'],
  'kube-scheduler': ['control-plane', 'scheduler'],
};

const NAMES: Readonly<Record<KubeadmPod, string>> = {
  etcd: 'etcd',
  'kube-apiserver': 'the API server',
  'kube-controller-manager': 'the controller manager',
  'kube-scheduler': 'the scheduler',
};

/** Where kubeadm finds the patches of a static pod, as a path inside; undefined = there are none. */
export async function findPatches(
  host: Host,
  kubernetes: KubernetesModel,
  kubeadm: Version,
  pod: KubeadmPod = 'kube-apiserver',
): Promise<string | undefined> {
  for (const name of (await host.list(`${ROOT}${PATCHES}`)) ?? []) await host.removeFile(`${ROOT}${PATCHES}/${name}`);
  const ours = await patchFiles(host, kubernetes, kubeadm, pod);
  // Created before `renderManifest` uses it, so that the directory is restricted to root from the start.
  await host.makeDirectory(ROOT, 0o700);
  for (const [name, content] of ours) await host.writeFile({ path: `${ROOT}${PATCHES}/${name}`, content, mode: 0o600 });
  return ours.length === 0 ? undefined : PATCHES;
}

/** The patches of a static pod, by the names of their files. */
async function patchFiles(
  host: QueryHost,
  kubernetes: KubernetesModel,
  kubeadm: Version,
  pod: KubeadmPod,
): Promise<readonly (readonly [name: string, content: string])[]> {
  const { patchesDirectory } = kubernetes.kubeadm;
  const found = new Map<string, string>();
  if (patchesDirectory === undefined) {
    const command = kubernetes.role === 'InitControlPlane' ? 'init' : 'join';
    for (const { path, content } of patches(kubernetes, command, kubeadmTarget(kubeadm), new Problems()).files) {
      found.set(path.slice(path.lastIndexOf('/') + 1), content);
    }
  } else {
    for (const name of (await host.list(patchesDirectory)) ?? []) {
      found.set(name, (await host.readText(`${patchesDirectory}/${name}`)) ?? '');
    }
  }
  return [...found].filter(([name]) => name.startsWith(pod));
}

/** A static pod for which kubeadm can say what it would write, without writing it. */
export type PreviewedPod = Exclude<KubeadmPod, 'etcd'>;

/**
 * The manifest that kubeadm would write with the patches of the document, or why it would not. Nothing is left on the machine.
 *
 * @param configuration for a directory with patches inside the root of kubeadm; undefined: there are none
 */
export async function previewManifest(
  host: QueryHost,
  pod: PreviewedPod,
  {
    kubernetes,
    kubeadm,
    now,
  }: { readonly kubernetes: KubernetesModel; readonly kubeadm: Version; readonly now: ApiServerManifest },
  configuration: (patchesDirectory: string | undefined) => string,
): Promise<{ readonly manifest: string } | { readonly why: string }> {
  const ours = await patchFiles(host, kubernetes, kubeadm, pod);
  const files: Record<string, string> = {};
  for (const [name, content] of ours) files[`${PATCHES}/${name}`] = content;
  // kubeadm mounts some directories only if they exist.
  for (const { hostPath } of now.volumes) {
    if ((await host.stat(hostPath))?.type === 'directory') files[`${hostPath}/.machineadm`] = '';
  }
  files[CONFIG] = configuration(ours.length === 0 ? undefined : PATCHES);
  const isOld = kubeadmTarget(kubeadm).configVersion === 'v1beta2' && ours.length > 0;
  const path = staticPodPath(pod);
  const {
    status,
    stderr,
    stdout,
    files: written,
  } = await host.query({
    program: 'kubeadm',
    args: [
      ...['init', 'phase', ...PHASES[pod], `--rootfs=${PRIVATE_FILES}`, `--config=${CONFIG}`],
      ...(isOld ? [`--experimental-patches=${PATCHES}`] : []),
    ],
    ...{ files, reads: [path], timeoutMs: TIMEOUT_MS },
  });
  const manifest = written?.[path];
  if (status === 0 && manifest !== undefined) return { manifest };
  return { why: textLines(stderr, stdout)[0] ?? `kubeadm ended with ${status}` };
}

/**
 * The manifest that kubeadm writes for this configuration. kubeadm works in a private root directory (`--rootfs`), so
 * nothing in use is touched. Directories that the current manifest mounts exist there too, because kubeadm mounts some
 * of them only if they exist (k/k cmd/kubeadm/app/phases/controlplane/volumes.go).
 *
 * @throws MachineadmError `KubeadmConfigInvalid` with kubeadm's lines
 */
export async function renderManifest(
  host: Host,
  configuration: string,
  options: {
    /** Default: the API server. */
    readonly pod?: KubeadmPod;
    readonly kubeadm: Version;
    readonly patchesDirectory: string | undefined;
    readonly now: ApiServerManifest | undefined;
    readonly signal: AbortSignal;
  },
): Promise<string> {
  const { pod = 'kube-apiserver', kubeadm, patchesDirectory, now, signal } = options;
  await host.makeDirectory(ROOT, 0o700);
  for (const { hostPath } of now?.volumes ?? []) {
    if ((await host.stat(hostPath))?.type === 'directory') await host.makeDirectory(`${ROOT}${hostPath}`, 0o755);
  }
  await host.makeDirectory(`${ROOT}/etc/kubernetes/manifests`, 0o755);
  await host.writeFile({ path: RECONFIGURATION, content: configuration, mode: 0o600 });
  const flag = kubeadmTarget(kubeadm).configVersion === 'v1beta2' ? '--experimental-patches' : undefined;
  const args = [
    ...['init', 'phase', ...PHASES[pod], `--rootfs=${ROOT}`, `--config=${CONFIG}`],
    ...(flag === undefined || patchesDirectory === undefined ? [] : [`${flag}=${patchesDirectory}`]),
  ];
  const result = await host.run({ program: 'kubeadm', args, timeoutMs: TIMEOUT_MS, signal, supervised: true });
  const written = `${ROOT}${staticPodPath(pod)}`;
  const manifest = await host.readText(written);
  await host.removeFile(written);
  if (result.status === 0 && manifest !== undefined) return manifest;
  const lines = textLines(result.stderr, result.stdout);
  throw new MachineadmError({
    reason: 'KubeadmConfigInvalid',
    summary: `kubeadm does not render ${NAMES[pod]} for this document: ${lines[0] ?? `exit status ${result.status}`}`,
    remedy: `Correct what kubeadm names. Nothing was changed: ${NAMES[pod]} runs as before.`,
    evidence: evidenceFrom('kubeadm', lines.slice(0, 10)),
  });
}

/** For the message: what has its new configuration already, and the command that continues. */
export interface RecordSubject {
  readonly reason: Extract<Reason, 'APIServerNotReconfigured' | 'ControlPlaneNotReconfigured'>;
  readonly what: string;
  readonly command: string;
  /** Default: what was rendered last. */
  readonly configuration?: string;
}

const API_SERVER_SUBJECT: RecordSubject = {
  reason: 'APIServerNotReconfigured',
  what: 'The API server runs',
  command: 'machineadm provision',
};

/**
 * Makes kubeadm record the configuration in the cluster (ConfigMap kubeadm-config), for upgrades and for control planes
 * that join later.
 *
 * @param subject what has its new configuration already
 * @throws MachineadmError
 */
export async function recordInCluster(
  host: Host,
  signal: AbortSignal,
  { reason, what, command, configuration }: RecordSubject = API_SERVER_SUBJECT,
): Promise<void> {
  if (configuration !== undefined) {
    await host.makeDirectory(ROOT, 0o700);
    await host.writeFile({ path: RECONFIGURATION, content: configuration, mode: 0o600 });
  }
  const args = ['init', 'phase', 'upload-config', 'kubeadm', `--config=${RECONFIGURATION}`];
  const result = await host.run({ program: 'kubeadm', args, timeoutMs: TIMEOUT_MS, signal, supervised: true });
  await host.removeFile(RECONFIGURATION);
  if (result.status === 0) return;
  const lines = textLines(result.stderr, result.stdout);
  throw new MachineadmError({
    reason,
    summary: `${what} with its new configuration, but kubeadm could not record it in the cluster: ${lines[0] ?? `exit status ${result.status}`}`,
    remedy: `Run ${command} again. Otherwise an upgrade of the cluster undoes the change.`,
    evidence: evidenceFrom('kubeadm', lines.slice(0, 10)),
    retryable: true,
  });
}
