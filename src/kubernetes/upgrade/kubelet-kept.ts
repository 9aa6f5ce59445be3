import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { KUBELET_CONFIG, KUBELET_FLAGS_ENVIRONMENT } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { UPGRADE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { checksummedJson, withChecksum } from '../../host/files/checksum.ts';
import { type KeptFile, keepFiles, parseKeptFiles, restoreFiles } from '../../host/files/kept-files.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';

/** Beside what else an upgrade keeps. */
const RECORD = `${UPGRADE_DIRECTORY}/kubelet.json`;

/** Keeps the configuration and the arguments of the kubelet. Durable when it returns. */
export async function keepKubelet(host: Host): Promise<void> {
  const content = withChecksum(JSON.stringify(await keepFiles(host, [KUBELET_CONFIG, KUBELET_FLAGS_ENVIRONMENT])));
  await host.writeFile({ path: RECORD, content, mode: 0o600, directoryMode: 0o700 });
  await host.sync(UPGRADE_DIRECTORY);
}

/** What was kept; undefined: nothing. Throws `HostStepFailed` where it is damaged. */
export async function keptKubelet(host: QueryHost): Promise<readonly KeptFile[] | undefined> {
  const source = await host.readText(RECORD);
  if (source === undefined) return undefined;
  const files = parseKeptFiles(checksummedJson(source));
  if (files !== undefined) return files;
  throw new MachineadmError({
    reason: 'HostStepFailed',
    summary: `${RECORD}, which has the configuration of the kubelet before a change, is damaged.`,
    remedy: `Check ${KUBELET_CONFIG}, remove the file, and run machineadm upgrade again.`,
  });
}

/** Puts the previous configuration and arguments back. */
export async function restoreKubelet(host: Host, files: readonly KeptFile[]): Promise<void> {
  await restoreFiles(host, files);
  await host.sync(KUBELET_CONFIG);
}

export async function forgetKubelet(host: Host): Promise<void> {
  await host.removeFile(RECORD);
}
