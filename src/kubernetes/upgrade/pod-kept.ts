import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { type KubeadmPod, staticPodPath } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { UPGRADE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { isRecord, listOf, object, string } from '@machineadm/document/values/shape.ts';
import { checksummedJson, withChecksum } from '../../host/files/checksum.ts';
import { type KeptFile, keepFiles, parseKeptFiles, restoreFiles } from '../../host/files/kept-files.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { podProcesses } from './certificate-renewal.ts';

/** Beside what else an upgrade keeps. */
const RECORD = `${UPGRADE_DIRECTORY}/control-plane.json`;

/** Static pods before their settings change. */
export interface KeptPods {
  /** Their manifests. */
  readonly files: readonly KeptFile[];
  /** Processes of each, as `pid:start`. */
  readonly processes: readonly { readonly pod: string; readonly running: readonly string[] }[];
}

/** Keeps the manifests of static pods. Durable when it returns. */
export async function keepPods(host: Host, pods: readonly KubeadmPod[]): Promise<KeptPods> {
  const processes: { pod: string; running: readonly string[] }[] = [];
  for (const pod of pods) processes.push({ pod, running: await podProcesses(host, pod) });
  const kept: KeptPods = { files: await keepFiles(host, pods.map(staticPodPath)), processes };
  const content = withChecksum(JSON.stringify(kept));
  await host.writeFile({ path: RECORD, content, mode: 0o600, directoryMode: 0o700 });
  await host.sync(UPGRADE_DIRECTORY);
  return kept;
}

const hasProcesses = object({ processes: listOf(object({ pod: string, running: listOf(string) })) });

/** What was kept; undefined: nothing. Throws `HostStepFailed` where it is damaged. */
export async function keptPods(host: QueryHost): Promise<KeptPods | undefined> {
  const source = await host.readText(RECORD);
  if (source === undefined) return undefined;
  const value = checksummedJson(source);
  const files = isRecord(value) ? parseKeptFiles(value.files) : undefined;
  if (files !== undefined && isKept(value)) return { files, processes: value.processes };
  throw new MachineadmError({
    reason: 'HostStepFailed',
    summary: `${RECORD}, which has the manifests of static pods before a change, is damaged.`,
    remedy: 'Check the manifests in /etc/kubernetes/manifests, remove the file, and run machineadm upgrade again.',
  });
}

function isKept(value: unknown): value is Pick<KeptPods, 'processes'> {
  return hasProcesses(value);
}

/** The processes of a pod before its settings changed. */
export function processesBefore({ processes }: KeptPods, pod: KubeadmPod): readonly string[] {
  return processes.find((one) => one.pod === pod)?.running ?? [];
}

/** Puts back the manifests that differ. Returns their paths. */
export async function restorePods(host: Host, { files }: KeptPods): Promise<readonly string[]> {
  const changed: KeptFile[] = [];
  for (const file of files) if ((await host.readText(file.path)) !== file.content) changed.push(file);
  await restoreFiles(host, changed);
  for (const { path } of changed) await host.sync(path);
  return changed.map(({ path }) => path);
}

export async function forgetPods(host: Host): Promise<void> {
  await host.removeFile(RECORD);
}
