import { MachineadmError } from '../../document/errors.ts';
import type { Secret, SecretValue } from '../../document/secret.ts';
import { connectCri } from '../cri-client.ts';
import type { CommandResult, Host, Query, QueryHost } from '../host.ts';
import { assertQuery } from '../queries.ts';
import { resolveSecret } from '../secrets.ts';
import { groupId, userId } from './accounts.ts';
import { runCommand } from './commands.ts';
import { list, readFile, readRange, readText, sha256, stat, which } from './read.ts';
import { serviceState, systemdDropInPath, systemdServices } from './systemd.ts';
import { chmod, makeDirectory, removeFile, sync, writeFile, writeKernelFile } from './write.ts';

const QUERY_TIMEOUT_MS = 30_000;
/** As a shell says it. */
const NOT_INSTALLED_STATUS = 127;

/** This Linux machine, read-only. The object has no method that could change anything, and is frozen. */
export function linuxQueryHost(): QueryHost {
  return Object.freeze({
    readFile,
    readText,
    readRange,
    stat,
    list,
    sha256,
    which,
    query,
    userId,
    groupId,
    service: serviceState,
    dropInPath: systemdDropInPath,
    secret: (value) => resolveSecret(value),
    cri: (socket) => connectCri(socket),
  } satisfies QueryHost);
}

/** This Linux machine, with the right to change it. Supervised commands are marked with `runId`. */
export function linuxHost(options: { readonly runId: string }): Host {
  return Object.freeze({
    ...linuxQueryHost(),
    writeFile,
    removeFile,
    makeDirectory,
    chmod,
    writeKernelFile,
    sync,
    run: (command) => runCommand(command, options.runId),
    secret: resolveAnySecret,
    services: systemdServices(),
  } satisfies Host);
}

async function resolveAnySecret(value: SecretValue): Promise<Secret> {
  const secret = await resolveSecret(value);
  if (secret !== undefined) return secret;
  throw new MachineadmError({
    reason: 'SecretUnavailable',
    summary: `the secret ${value.name} cannot be had: this agent cannot ask for a ${value.source.kind} secret yet`,
    remedy: `Take ${value.name} from a file, the environment or a systemd credential.`,
  });
}

/** A program that is not there answers like a shell: status 127. So does a query that could not be started. */
async function query(asked: Query): Promise<CommandResult> {
  assertQuery(asked);
  try {
    return await runCommand({
      program: asked.program,
      args: asked.args,
      ...(asked.input === undefined ? {} : { input: asked.input }),
      timeoutMs: asked.timeoutMs ?? QUERY_TIMEOUT_MS,
    });
  } catch (error) {
    if (!(error instanceof MachineadmError) || error.reason !== 'HostStepFailed') throw error;
    return { status: NOT_INSTALLED_STATUS, stdout: '', stderr: error.message, timedOut: false };
  }
}
