import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { SecretValue } from '@machineadm/document/secrets/secret.ts';
import { notStarted, resultOfQuery } from '../commands/results.ts';
import { connectCri, pullImage, removePods } from '../cri/client.ts';
import { probePod } from '../cri/workloads.ts';
import { interfaceAddresses } from '../network/interface-addresses.ts';
import type { CommandResult, Host, Query, QueryHost } from '../seam/host.ts';
import { isQuery } from '../seam/queries.ts';
import { resolveSecret } from '../secrets/resolve.ts';
import { secretResolver } from '../secrets/resolver.ts';
import { windowsPath } from '../windows/paths.ts';
import { ProgramDirectories } from '../windows/program-directories.ts';
import { assertWindowsQuery, isWindowsQuery } from '../windows/queries.ts';
import { fileQueries, findProgram } from '../windows/read.ts';
import { Security } from '../windows/security.ts';
import { serviceState, windowsServices } from '../windows/services.ts';
import type { WindowsSystem } from '../windows/system.ts';
import { fileChanges } from '../windows/write.ts';

/** A Windows machine, read-only. The object is frozen and has no method that changes anything. */
export function windowsQueryHost(system: WindowsSystem): QueryHost {
  const security = new Security(system);
  return Object.freeze(queries(system, security, new ProgramDirectories(system, security)));
}

export interface WindowsHostOptions {
  /** Opens the HTTP client of this run. */
  readonly http: Host['http'];
  /** Aborted when the run ends: waiting for a service must not outlive it. */
  readonly signal?: AbortSignal;
}

/** A Windows machine, with the right to change it. */
export function windowsHost(system: WindowsSystem, options: WindowsHostOptions): Host {
  const security = new Security(system);
  const directories = new ProgramDirectories(system, security);
  const asked = queries(system, security, directories);
  const run: Host['run'] = async (command) => {
    const program = findProgram(system, command.program);
    if (program === undefined) throw notInstalled(command.program);
    await directories.requireClosed(program, command.args);
    try {
      return await system.run({ ...command, program });
    } finally {
      security.forget();
    }
  };
  const secret = secretResolver({ run, http: options.http });
  return Object.freeze({
    ...asked,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    ...fileChanges(system, security),
    run,
    http: options.http,
    pullImage: (socket, reference, signal) => pullImage(system.native(pipeOf(socket)), reference, signal),
    removePods: (socket, signal) => removePods(system.native(pipeOf(socket)), signal),
    probePod: (socket, parent, signal) => probePod(system.native(pipeOf(socket)), parent, signal),
    secret: (value) => secret(onDrive(system, value)),
    services: windowsServices({ ...asked, run }, options.signal),
  } satisfies Host);
}

function queries(system: WindowsSystem, security: Security, directories: ProgramDirectories): QueryHost {
  const query = async (asked: Query): Promise<CommandResult> => {
    // Checks for all platforms may query Linux-only programs: the answer is that of a program that is not installed.
    if (isQuery(asked.program, asked.args) && !isWindowsQuery(asked.program, asked.args)) {
      return notStarted(`${asked.program} is a program of Linux`);
    }
    assertWindowsQuery(asked);
    const program = findProgram(system, asked.program);
    if (program === undefined) return notStarted(notInstalled(asked.program).message);
    await directories.requireClosed(program, asked.args);
    return await resultOfQuery({ ...asked, program }, (command) => system.run(command));
  };
  return {
    ...fileQueries(system, security),
    readLink: async () => undefined,
    realPath: async (path) => path,
    addresses: () => interfaceAddresses(),
    query,
    // Files belong to the administrators: the rest of the program names them `root`.
    userId: async (user) => (user === 'root' || user === '0' ? 0 : undefined),
    groupId: async (group) => (group === 'root' || group === '0' ? 0 : undefined),
    service: (name) => serviceState({ query }, name),
    // Descriptions of services are in the registry, one value each: there are no drop-ins.
    dropInPath: () => undefined,
    bootFile: () => undefined,
    serviceEnvironment: (service) => {
      throw noEnvironmentFile(service);
    },
    secret: (value) => resolveSecret(onDrive(system, value)),
    cri: (socket) => connectCri(system.native(pipeOf(socket))),
  };
}

/**
 * The named pipe of an endpoint, in the spelling of Windows and Node: `npipe:////./pipe/containerd-containerd`
 * (kubernetes pkg/kubelet/util/util_windows.go) is `\\.\pipe\containerd-containerd`.
 */
export function pipeOf(endpoint: string): string {
  return endpoint.replace(/^npipe:\/\//, '').replaceAll('/', '\\');
}

/** The path of a secret's file may have a drive or not, like any other path. */
function onDrive(system: WindowsSystem, value: SecretValue): SecretValue {
  const { source } = value;
  if (source.kind !== 'file') return value;
  return { ...value, source: { ...source, path: system.native(windowsPath(source.path)) } };
}

function noEnvironmentFile(service: string): MachineadmError {
  return new MachineadmError({
    reason: 'UnsupportedOnPlatform',
    summary: `the service ${service} cannot get its variables from a file: Windows keeps them in the registry`,
    remedy: 'This is a defect in machineadm: the step for Windows should have been asked. Please report it.',
  });
}

function notInstalled(program: string): MachineadmError {
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: `${program} could not be started: it is not installed`,
    remedy: `Install ${program} in one of the directories where machineadm looks for programs, such as C:\\k.`,
  });
}
