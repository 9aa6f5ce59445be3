import { dirname, resolve } from 'node:path/posix';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import {
  KUBEADM_PODS,
  KUBELET_CONFIG,
  KUBELET_DIRECTORY,
  KUBELET_FLAGS_ENVIRONMENT,
  STATIC_PODS_DIRECTORY,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import { CONTAINERD_CONFIGURATION, UPGRADE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { isRecord, listOf, number, object, optional, string } from '@machineadm/document/values/shape.ts';
import { checksummedJson, withChecksum } from '../../host/files/checksum.ts';
import { type KeptFile, keepFiles, parseKeptFiles } from '../../host/files/kept-files.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';

/** Since 1.32 the socket of the runtime is there (KEP-4656). */
const INSTANCE_CONFIG = `${KUBELET_DIRECTORY}/instance-config.yaml`;
const RECORD = `${UPGRADE_DIRECTORY}/state.json`;
const PROGRAMS = ['kubelet', 'kubeadm'] as const;
/** A link that leads to a link, and so on. */
const MOST_LINKS = 8;

/** What kubeadm upgrade writes on this machine, as it was before. */
export interface KeptState {
  /** The manifests of the static pods, in the order in which they are put back; and the configuration of the kubelet and containerd. */
  readonly files: readonly KeptFile[];
  readonly programs: readonly KeptProgram[];
}

/** A program as it was: a link, or a file whose copy is kept. */
export interface KeptProgram {
  readonly path: string;
  readonly target?: string | undefined;
  readonly copy?: string | undefined;
  readonly sha256?: string | undefined;
  readonly mode?: number | undefined;
}

export function manifestPath(component: string): string {
  return `${STATIC_PODS_DIRECTORY}/${component}.yaml`;
}

/**
 * The files that `kubeadm upgrade` may change and that can be put back; and the configuration of containerd, which gets the image of
 * sandboxes of the new kubeadm.
 */
const FILES: readonly string[] = [
  ...KUBEADM_PODS.map(manifestPath),
  KUBELET_CONFIG,
  KUBELET_FLAGS_ENVIRONMENT,
  INSTANCE_CONFIG,
  CONTAINERD_CONFIGURATION,
];

/** Keeps the state of the node. Durable when it returns; what an earlier upgrade kept is replaced. */
export async function keepState(host: Host): Promise<KeptState> {
  await forgetState(host);
  const programs: KeptProgram[] = [];
  for (const name of PROGRAMS)
    programs.push(...(await keepProgram(host, await host.which(name), `${UPGRADE_DIRECTORY}/${name}`)));
  const state: KeptState = { files: await keepFiles(host, FILES), programs };
  await host.writeFile({
    path: RECORD,
    content: withChecksum(JSON.stringify(state)),
    mode: 0o600,
    directoryMode: 0o700,
  });
  await host.sync(UPGRADE_DIRECTORY);
  return state;
}

/** Keeps a program with the links that lead to it. */
export async function keepProgram(host: Host, at: string | undefined, copy: string): Promise<readonly KeptProgram[]> {
  const kept: KeptProgram[] = [];
  let path = at;
  for (let links = 0; path !== undefined && links < MOST_LINKS; links += 1) {
    const target = await host.readLink(path);
    if (target === undefined) break;
    kept.push({ path, target });
    path = resolve(dirname(path), target);
  }
  const stat = path === undefined ? undefined : await host.stat(path);
  if (path === undefined || stat?.type !== 'file') return kept;
  await using file = await host.openFile(path);
  if (file === undefined) return kept;
  await host.writeFile({ path: copy, content: file, mode: 0o700, directoryMode: 0o700 });
  await host.sync(copy);
  return [...kept, { path, copy, sha256: await file.sha256(), mode: stat.mode }];
}

/** What was kept. Throws `HostStepFailed` where it is damaged or missing: it was there when the upgrade began. */
export async function readState(host: QueryHost): Promise<KeptState> {
  const source = await host.readText(RECORD);
  const value = source === undefined ? undefined : checksummedJson(source);
  const [files, programs] = isRecord(value) ? [parseKeptFiles(value.files), value.programs] : [];
  if (files !== undefined && arePrograms(programs)) return { files, programs };
  throw new MachineadmError({
    reason: 'HostStepFailed',
    summary: `${RECORD}, which has the state of this node before the upgrade, is ${source === undefined ? 'missing' : 'damaged'}.`,
    remedy: 'kubeadm keeps copies of the manifests below /etc/kubernetes/tmp. Check the node by hand.',
  });
}

const isPrograms = listOf(
  object({
    path: string,
    target: optional(string),
    copy: optional(string),
    sha256: optional(string),
    mode: optional(number),
  }),
);

export function arePrograms(value: unknown): value is readonly KeptProgram[] {
  return isPrograms(value);
}

/** Removes what was kept, except for the snapshot of etcd. */
export async function forgetState(host: Host): Promise<void> {
  for (const path of [RECORD, ...PROGRAMS.map((name) => `${UPGRADE_DIRECTORY}/${name}`)]) await host.removeFile(path);
}
