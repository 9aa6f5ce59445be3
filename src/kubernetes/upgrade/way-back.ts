import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { KUBELET_CONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { CONTAINERD_CONFIGURATION } from '@machineadm/document/ownership/paths.ts';
import type { KeptFile } from '../../host/files/kept-files.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { type KeptProgram, type KeptState, manifestPath } from './kept-state.ts';
import { imageOf, staticPodImage, versionOfImage } from './running-version.ts';

/** kubeadm replaces it last (k/k cmd/kubeadm/app/constants/constants.go, ControlPlaneComponents). */
const LAST = 'kube-scheduler';
const ETCD = manifestPath('etcd');

/** Whether kubeadm has replaced the last static pod: from then on there is no way back. Never on a worker. */
export async function hasReplacedAll(host: QueryHost, to: string): Promise<boolean> {
  return versionOfImage(await staticPodImage(host, LAST)) === to;
}

/**
 * Puts back manifests that a killed kubeadm had moved away, and had not replaced yet: without them their pods are gone,
 * and kubeadm refuses to start again.
 */
export async function restoreMissing(host: Host, { files }: KeptState): Promise<readonly string[]> {
  const restored: string[] = [];
  for (const { path, content, mode, gid = 0 } of files) {
    if (content === undefined || (await host.stat(path)) !== undefined) continue;
    await host.writeFile({ path, content, mode, gid });
    restored.push(path);
  }
  if (restored.length > 0) await host.sync('/etc/kubernetes');
  return restored;
}

/** What the way back has done, and what it left. */
export interface WayBack {
  /** Paths that are as before. */
  readonly restored: readonly string[];
  /** Sentences about what is not as before. */
  readonly left: readonly string[];
  /** Whether the kubelet must be restarted to run as before. */
  readonly restartsKubelet: boolean;
  /** The same of containerd. */
  readonly restartsContainerd: boolean;
}

/**
 * Puts back the manifests, the configurations of the kubelet and of containerd, and the programs that machineadm itself had
 * replaced. A newer etcd stays: it may have changed its data, and older API servers work with it, which is also what kubeadm
 * does.
 *
 * @param isOurs whether steps of machineadm write this path
 */
export async function goBack(host: Host, kept: KeptState, isOurs: (path: string) => boolean): Promise<WayBack> {
  const restored: string[] = [];
  const left: string[] = [];
  for (const file of await changedFiles(host, kept)) {
    const { path, content, mode, gid = 0 } = file;
    // Others may have edited it for a reason of theirs.
    if (path === CONTAINERD_CONFIGURATION && !isOurs(path)) continue;
    if (path === ETCD && content !== undefined && (await isOtherEtcd(host, content))) {
      left.push(
        `etcd keeps its new version, ${(await staticPodImage(host, 'etcd')) ?? ''}, which works with the previous API server`,
      );
      continue;
    }
    if (content === undefined) await host.removeFile(path);
    else await host.writeFile({ path, content, mode, gid });
    restored.push(path);
  }
  if (restored.length > 0) await host.sync('/etc/kubernetes');
  const programs = await restorePrograms(host, kept.programs, isOurs);
  restored.push(...programs.restored);
  left.push(...programs.left);
  const restartsKubelet = restored.some((path) => path === KUBELET_CONFIG || path.endsWith('/kubelet'));
  return { restored, left, restartsKubelet, restartsContainerd: restored.includes(CONTAINERD_CONFIGURATION) };
}

/**
 * Puts back the programs that machineadm itself had replaced. One that a package or a hook brought stays: its files belong to
 * others, who would find an older one under a newer version.
 *
 * @param isOurs whether steps of machineadm write this path
 */
export async function restorePrograms(
  host: Host,
  programs: readonly KeptProgram[],
  isOurs: (path: string) => boolean,
): Promise<Pick<WayBack, 'restored' | 'left'>> {
  const restored: string[] = [];
  const left: string[] = [];
  for (const program of programs) {
    if (await isSame(host, program)) continue;
    if (!isOurs(program.path)) {
      left.push(`${program.path} is the new one, and a package or a hook brought it: install the older one again`);
      continue;
    }
    try {
      await restoreProgram(host, program);
      restored.push(program.path);
    } catch (error) {
      left.push(`${program.path} could not be restored: ${errorMessage(error)}`);
    }
  }
  return { restored, left };
}

async function changedFiles(host: QueryHost, { files }: KeptState): Promise<readonly KeptFile[]> {
  const changed: KeptFile[] = [];
  for (const file of files) if ((await host.readText(file.path)) !== file.content) changed.push(file);
  return changed;
}

async function isOtherEtcd(host: QueryHost, before: string): Promise<boolean> {
  const now = await staticPodImage(host, 'etcd');
  return now !== undefined && now !== (await imageOf(before));
}

async function isSame(host: QueryHost, { path, target, sha256 }: KeptProgram): Promise<boolean> {
  return target === undefined ? (await host.sha256(path)) === sha256 : (await host.readLink(path)) === target;
}

async function restoreProgram(host: Host, { path, target, copy, mode = 0o755 }: KeptProgram): Promise<void> {
  if (target !== undefined) return await host.writeLink(path, target);
  await using file = copy === undefined ? undefined : await host.openFile(copy);
  if (file === undefined) throw new Error('its copy is gone');
  await host.writeFile({ path, content: file, mode });
  await host.sync(path);
}
