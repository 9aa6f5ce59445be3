import { resultOfQuery } from '../commands/results.ts';
import { connectCri, pullImage, removePods } from '../cri/client.ts';
import { probePod } from '../cri/workloads.ts';
import { realPath } from '../files/paths.ts';
import { groupId, userId } from '../linux/accounts.ts';
import { runCommand } from '../linux/commands.ts';
import { withLabels } from '../linux/labels.ts';
import { withPrivateFiles } from '../linux/private-files.ts';
import { list, openForReading, readFile, readLink, readRange, readText, sha256, stat, which } from '../linux/read.ts';
import { serviceManager, serviceQueries } from '../linux/service-manager.ts';
import {
  chmod,
  chown,
  linkFile,
  makeDirectory,
  removeDirectory,
  removeFile,
  sync,
  writeFile,
  writeKernelFile,
  writeLink,
} from '../linux/write.ts';
import { interfaceAddresses } from '../network/interface-addresses.ts';
import type { CommandResult, Host, Query, QueryHost } from '../seam/host.ts';
import { assertQuery } from '../seam/queries.ts';
import { httpOf, type NetworkSettings } from '../secrets/agent-client.ts';
import { resolveSecret } from '../secrets/resolve.ts';
import { secretResolver } from '../secrets/resolver.ts';

/** This Linux machine, read-only. The object is frozen and has no method that changes anything. */
export function linuxQueryHost(): QueryHost {
  return Object.freeze({
    readFile,
    readText,
    readRange,
    openFile: openForReading,
    stat,
    readLink,
    realPath,
    list,
    sha256,
    addresses: () => interfaceAddresses({ readText }),
    which,
    query,
    userId,
    groupId,
    ...serviceQueries(),
    secret: (value) => resolveSecret(value),
    cri: (socket) => connectCri(socket),
  } satisfies QueryHost);
}

export interface LinuxHostOptions {
  /** Marks supervised commands. */
  readonly runId: string;
  /** Requested with the first request; undefined = the document has no proxy and no trusted certificates. */
  readonly network?: () => NetworkSettings | undefined;
  /** Aborted when the run ends: waiting for a service must not outlive it. */
  readonly signal?: AbortSignal;
}

/** This Linux machine, with the right to change it. */
export function linuxHost(options: LinuxHostOptions): Host {
  const run: Host['run'] = (command) => runCommand(command, options.runId);
  const http = httpOf(options.network, run);
  const host = {
    ...linuxQueryHost(),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    writeFile,
    writeLink,
    linkFile,
    removeFile,
    removeDirectory,
    makeDirectory,
    chmod,
    chown,
    writeKernelFile,
    sync,
    run,
    http,
    pullImage,
    removePods,
    probePod,
    secret: secretResolver({ run, http }),
    services: serviceManager(options.signal),
  } satisfies Host;
  return Object.freeze(withLabels(host));
}

async function query(asked: Query): Promise<CommandResult> {
  assertQuery(asked);
  return await withPrivateFiles(asked, (one) => resultOfQuery(one, runCommand));
}
