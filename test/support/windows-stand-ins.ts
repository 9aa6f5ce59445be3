import { lstatSync, mkdirSync } from 'node:fs';
import { win32 } from 'node:path';
import type { CommandResult } from '../../src/host/seam/host.ts';
import { systemStandIns } from './windows-system-stand-ins.ts';

/** Thrown by everything that is asked of a machine without power. */
export class MachineKilled extends Error {}

/** What a fake Windows machine is like. Tests change it as they please. */
export interface WindowsState {
  /** When the machine was started, RFC 3339. */
  boot: string;
  hostname: string;
  /** What it is called from the next start on. */
  pendingHostname: string;
  machineGuid: string;
  /** The id of its firmware. */
  firmware: string;
  /** How often it was started. */
  bootNumber: number;
  build: string;
  version: string;
  drive: string;
  partOfDomain: boolean;
  domain: string;
  /** Whether the domain trusts the computer: Netlogon has its channel. */
  isTrusted: boolean;
  addresses: readonly string[];
  isAdministrator: boolean;
  readonly services: Record<string, WindowsServiceState>;
  /** Security descriptors in SDDL, by the identity of the file, which a rename keeps; `descriptorAt` reads them. */
  readonly security: Map<string, string>;
  /** What is inherited from C:\ on a Windows Server. */
  inherited: string;
  /** The same for the directories of programs. */
  programs: string;
  /** Type and NtpServer of the Windows Time service. */
  readonly time: { type: string; servers: string };
  /** Variables of the machine, and of its services as NAME=value. */
  readonly environment: { readonly machine: Record<string, string>; readonly services: Record<string, string[]> };
  /** The store Root: base64 of DER, and friendly names. */
  authorities: { der: string; name: string }[];
  /** Processes that killed runs left: what becomes of each when it is ended. */
  readonly processes: Record<number, { readonly name: string; readonly state: 'ended' | 'stays' | 'other' }>;
  /** What the service control manager logged. */
  readonly serviceEvents: string[];
  /** What will happen when the machine is started next, as a join to a domain or a new name does. */
  readonly atNextBoot: ((state: WindowsState) => void)[];
}

export interface WindowsServiceState {
  /** Running, Stopped, … as Win32_Service has it. */
  state: string;
  startMode: 'Auto' | 'Manual' | 'Disabled';
  pid: number | undefined;
  path: string;
  /** Set: what starting it throws. */
  fails?: string;
}

/** Answers a script, given its standard input. */
export type StandIn = (input: string) => CommandResult;

/**
 * What Windows answers to the host's own scripts, by name. Composed: System.Security.AccessControl and Win32_Service as
 * Microsoft Learn describes them.
 */
export function standInsOfWindows(
  different: Partial<WindowsState>,
  native: (path: string) => string,
): { readonly standIns: ReadonlyMap<string, StandIn>; readonly state: WindowsState } {
  const state: WindowsState = {
    boot: '2026-01-01T00:00:00.0000000Z',
    hostname: 'win-node-1',
    pendingHostname: different.hostname ?? 'win-node-1',
    machineGuid: '6f1e2d3c-0000-4000-8000-00000000beef',
    firmware: '{4c4c4544-0042-4d10-8052-b7c04f4e3333}',
    bootNumber: 7,
    build: '20348.2700',
    version: '10.0.20348',
    drive: 'C:',
    partOfDomain: false,
    domain: 'WORKGROUP',
    isTrusted: false,
    addresses: ['10.0.0.7', 'fe80::1', '169.254.3.4'],
    isAdministrator: true,
    services: {
      containerd: {
        state: 'Running',
        startMode: 'Auto',
        pid: 900,
        path: '"C:\\Program Files\\containerd\\containerd.exe" --run-service',
      },
      w32time: {
        state: 'Stopped',
        startMode: 'Manual',
        pid: undefined,
        path: 'C:\\Windows\\system32\\svchost.exe -k LocalService',
      },
      kubelet: {
        state: 'Stopped',
        startMode: 'Auto',
        pid: undefined,
        path: 'C:\\k\\kube-log-runner.exe C:\\k\\kubelet.exe --windows-service',
      },
    },
    security: new Map(),
    inherited: 'O:BAG:SYD:AI(A;ID;FA;;;BA)(A;ID;FA;;;SY)(A;ID;0x1200a9;;;BU)(A;ID;0x1301bf;;;AU)',
    programs: 'O:BAG:SYD:AI(A;ID;FA;;;BA)(A;ID;FA;;;SY)(A;ID;0x1200a9;;;BU)',
    time: { type: 'NTP', servers: 'time.windows.com,0x8' },
    environment: { machine: {}, services: {} },
    authorities: [],
    processes: {},
    serviceEvents: [],
    atNextBoot: [],
    ...different,
  };
  const sddlOf = (path: string) => descriptorAt(state, path, native);
  const standIns = new Map<string, StandIn>([
    ['facts', () => answered('facts', { ...described(state) })],
    [
      'read-security',
      (input) =>
        answered(
          'read-security',
          pathsIn(input).map((path) => ({ path, sddl: sddlOf(path) })),
        ),
    ],
    [
      'write-security',
      (input) => {
        const { path, sddl, create } = JSON.parse(input) as { path: string; sddl: string; create: boolean };
        if (create) mkdirSync(native(path), { recursive: true });
        const file = identityOf(native(path));
        if (file === undefined) return failed('write-security', `Could not find a part of the path '${path}'.`);
        state.security.set(file, sddl);
        return answered('write-security', { sddl });
      },
    ],
    [
      'read-domain',
      () => {
        const { partOfDomain, domain, hostname } = state;
        return answered('read-domain', { partOfDomain, domain, computerName: hostname.toUpperCase() });
      },
    ],
    ['read-secure-channel', () => answered('read-secure-channel', { trusted: state.isTrusted })],
    ['flush-volume', (input) => answered('flush-volume', { flushed: (JSON.parse(input) as { drive: string }).drive })],
    [
      'service-state',
      (input) => answered('service-state', serviceOf(state, (JSON.parse(input) as { name: string }).name)),
    ],
    ['service-events', (input) => answered('service-events', eventsOf(state, input))],
    ['change-service', (input) => changeService(state, input)],
    ...systemStandIns(state),
  ]);
  return { standIns, state };
}

/** The security descriptor of a file, its own or what it has from the directories above it; null when it is not there. */
export function descriptorAt(
  state: Pick<WindowsState, 'security' | 'inherited' | 'programs'>,
  path: string,
  native: (path: string) => string,
): string | null {
  if (identityOf(native(path)) === undefined) return null;
  for (let part = path; part !== win32.dirname(part); part = win32.dirname(part)) {
    const own = state.security.get(identityOf(native(part)) ?? '');
    // What is handed down: without the flags that hand it on, marked as inherited.
    if (own !== undefined) return part === path ? own : own.replace('D:PAI', 'D:AI').replaceAll('(A;OICI;', '(A;ID;');
  }
  return OF_PROGRAMS.test(path) ? state.programs : state.inherited;
}

/** Where programs are: an image closes C:\k, Windows itself the other. */
const OF_PROGRAMS = /^C:\\(k|Program Files)(\\|$)/i;

/** What stays the same when a file is renamed, and never comes back. */
function identityOf(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? undefined : `${found.ino} ${found.birthtimeNs}`;
}

/** The name of one of our scripts in the arguments of powershell.exe. */
export function scriptOf(args: readonly string[]): string | undefined {
  const encoded = args[args.indexOf('-EncodedCommand') + 1];
  if (!args.includes('-EncodedCommand') || encoded === undefined) return undefined;
  return /^# machineadm ([a-z0-9-]+)\n/.exec(Buffer.from(encoded, 'base64').toString('utf16le'))?.[1];
}

/** What a script prints that succeeded. */
export function answered(script: string, answer: unknown): CommandResult {
  return { status: 0, stdout: `${JSON.stringify({ script, answer })}\r\n`, stderr: '', timedOut: false };
}

function failed(script: string, message: string): CommandResult {
  const error = { message, type: 'System.Management.Automation.RuntimeException', hresult: -2146233087 };
  return { status: 0, stdout: `${JSON.stringify({ script, error })}\r\n`, stderr: '', timedOut: false };
}

function described(state: WindowsState) {
  const { boot, machineGuid, version, build, drive, hostname, pendingHostname, partOfDomain, domain } = state;
  const { addresses, isAdministrator, firmware, bootNumber } = state;
  const caption = 'Microsoft Windows Server 2022 Datacenter';
  return {
    boot,
    machineGuid,
    firmware,
    bootNumber: `${bootNumber}`,
    caption,
    version,
    build,
    drive,
    hostname,
    pendingHostname,
    partOfDomain,
    domain,
    addresses,
    isAdministrator,
  };
}

function pathsIn(input: string): readonly string[] {
  return (JSON.parse(input) as { paths: readonly string[] }).paths;
}

function serviceOf({ services, boot }: WindowsState, name: string) {
  const service = services[name];
  if (service === undefined) return { exists: false };
  const { state, startMode, pid, path } = service;
  return { exists: true, state, startMode, pid: pid ?? 0, startedAt: pid === undefined ? null : boot, path };
}

function eventsOf({ serviceEvents }: WindowsState, input: string): readonly string[] {
  const { name, lines } = JSON.parse(input) as { name: string; lines: number };
  return serviceEvents.filter((event) => event.includes(name)).slice(-lines);
}

function changeService(machine: WindowsState, input: string): CommandResult {
  const { name, action } = JSON.parse(input) as { name: string; action: string };
  const service = machine.services[name];
  if (service === undefined) return failed('change-service', `there is no service ${name}`);
  if (action === 'stop' || action === 'restart') {
    service.state = 'Stopped';
    service.pid = undefined;
  }
  if (action === 'start' || action === 'restart') {
    if (service.fails !== undefined) return failed('change-service', service.fails);
    if (service.startMode === 'Disabled')
      return failed('change-service', `Cannot start service ${name} on computer '.'.`);
    if (service.state !== 'Running') service.pid = (service.pid ?? 4000) + 4;
    service.state = 'Running';
  }
  if (action === 'Automatic') service.startMode = 'Auto';
  if (action === 'Manual' || action === 'Disabled') service.startMode = action;
  return answered('change-service', { state: service.state, startMode: service.startMode });
}
