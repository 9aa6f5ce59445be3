import { MachineadmError } from '@machineadm/document/errors.ts';
import { API_SERVER_TRANSACTION } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { member, text } from '@machineadm/document/untyped.ts';
import { withChecksum, withoutChecksum } from '../../host/files/checksum.ts';
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

interface KeptFile {
  readonly path: string;
  readonly content: string | undefined;
  readonly mode: number;
}

/** Saves the current files. Durable before it returns. */
export async function beginTransaction(
  host: Host,
  paths: readonly string[],
  facts: Omit<Transaction, 'files'>,
): Promise<Transaction> {
  const files: KeptFile[] = [];
  for (const path of new Set(paths)) {
    const [content, stat] = [await host.readText(path), await host.stat(path)];
    files.push({ path, content, mode: stat?.mode ?? 0o600 });
  }
  const transaction: Transaction = { ...facts, files };
  await host.writeFile({ path: TRANSACTION, content: withChecksum(JSON.stringify(transaction)), mode: 0o600 });
  await host.sync(TRANSACTION);
  return transaction;
}

/** The state saved by a killed reconfiguration; undefined = there was none. */
export async function readTransaction(host: QueryHost): Promise<Transaction | undefined> {
  const source = await host.readText(TRANSACTION);
  if (source === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(withoutChecksum(source) ?? '');
  } catch {
    throw unreadable();
  }
  const [files, cluster, processes] = [
    member(value, 'files'),
    text(member(value, 'cluster')),
    member(value, 'processes'),
  ];
  const isPid = (pid: unknown): pid is string => typeof pid === 'string';
  if (!Array.isArray(files) || cluster === undefined || !Array.isArray(processes) || !processes.every(isPid))
    throw unreadable();
  return {
    cluster,
    processes,
    files: files.map((file: unknown) => {
      const [path, content, mode] = [text(member(file, 'path')), member(file, 'content'), member(file, 'mode')];
      // A file without content is removed on restore, so a file that cannot be read must not count as missing.
      if (path === undefined || typeof mode !== 'number') throw unreadable();
      if (content !== undefined && typeof content !== 'string') throw unreadable();
      return { path, content, mode };
    }),
  };
}

/** Restores everything, the manifest last (`paths` end with it), because it makes the kubelet read the other files. */
export async function restore(host: Host, { files }: Transaction): Promise<void> {
  for (const { path, content, mode } of files) {
    if (content === undefined) await host.removeFile(path);
    else await host.writeFile({ path, content, mode });
  }
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
    remedy: 'See that the API server runs as it should, remove the file, and run machineadm provision again.',
  });
}
