import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { API_SERVER_TRANSACTION } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { checksummedJson, withChecksum } from '../../host/files/checksum.ts';
import { type KeptFile, keepFiles, parseKeptFiles, restoreFiles } from '../../host/files/kept-files.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';

/** Stored beside the files that it keeps, and restricted to root like them. */
export const TRANSACTION = API_SERVER_TRANSACTION;

export interface Transaction {
  /** The original files; without content: the file did not exist. */
  readonly files: readonly KeptFile[];
  /** The cluster's ClusterConfiguration, YAML. */
  readonly cluster: string;
  /** Processes of the previous API server. */
  readonly processes: readonly string[];
}

/** Saves the current files. Durable before it returns. */
export async function beginTransaction(
  host: Host,
  paths: readonly string[],
  facts: Omit<Transaction, 'files'>,
): Promise<Transaction> {
  const transaction: Transaction = { ...facts, files: await keepFiles(host, paths) };
  await host.writeFile({ path: TRANSACTION, content: withChecksum(JSON.stringify(transaction)), mode: 0o600 });
  await host.sync(TRANSACTION);
  return transaction;
}

/** The state saved by a killed reconfiguration; undefined = there was none. */
export async function readTransaction(host: QueryHost): Promise<Transaction | undefined> {
  const source = await host.readText(TRANSACTION);
  if (source === undefined) return undefined;
  const value = checksummedJson(source);
  const [files, cluster, processes] = [
    parseKeptFiles(member(value, 'files')),
    text(member(value, 'cluster')),
    member(value, 'processes'),
  ];
  const isPid = (pid: unknown): pid is string => typeof pid === 'string';
  if (files === undefined || cluster === undefined || !Array.isArray(processes) || !processes.every(isPid))
    throw unreadable();
  return { cluster, processes, files };
}

/** Restores everything, the manifest last (`paths` end with it), because it makes the kubelet read the other files. */
export async function restore(host: Host, { files }: Transaction): Promise<void> {
  await restoreFiles(host, files);
  await host.sync('/etc/kubernetes');
}

/** The original text of a file. */
export function contentBefore({ files }: Transaction, path: string): string | undefined {
  return files.find((file) => file.path === path)?.content;
}

function unreadable(): MachineadmError {
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: `${TRANSACTION}, which has the API server's configuration from before a change, is damaged.`,
    remedy: 'Make sure that the API server works, remove the file, and run machineadm provision again.',
  });
}
