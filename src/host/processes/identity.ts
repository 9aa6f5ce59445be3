import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { uptime } from 'node:os';
import { resolve } from 'node:path';
import { isSea } from 'node:sea';
import { errnoOf } from '../files/file-error.ts';
import { LOCK_PATH } from '../files/paths.ts';
import { isRunning, parseProcessStat, readProcess } from '../linux/processes.ts';

/** A process for good: a pid comes back, a pid with its start time does not. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Field 22 of /proc/PID/stat: clock ticks (1/100 s) since boot. */
  readonly startTicks: number;
}

const IS_WINDOWS = process.platform === 'win32';
/** In the same unit, but since the epoch: Windows tells it of no other process without a start of PowerShell. */
const TICK_MS = 10;

/** This process. */
export function ownProcess(): ProcessIdentity {
  if (IS_WINDOWS) return { pid: process.pid, startTicks: Math.round(performance.timeOrigin / TICK_MS) };
  const own = parseProcessStat(readFileSync('/proc/self/stat', 'utf8'));
  return { pid: process.pid, startTicks: own?.startTicks ?? 0 };
}

/** True while exactly this process runs; a zombie and another process under its pid do not count. */
export async function isProcessAlive(identity: ProcessIdentity): Promise<boolean> {
  // Only a run has such an identity, and a run holds the lock for as long as it lives.
  if (IS_WINDOWS) return (await import('../windows/lock.ts')).holdsWindowsLock(LOCK_PATH, identity.pid);
  const found = await readProcess(identity.pid);
  if (found === undefined) return isHidden(identity.pid);
  return found.startTicks === identity.startTicks && isRunning(found);
}

/** Whether a process runs that /proc does not show to this user (its mount option `hidepid`): kill(2) says EPERM then. */
function isHidden(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return errnoOf(error) === 'EPERM';
  }
}

/** The machine id of machine-id(5), 32 hex digits; empty where there is none yet, as in an image that is being built. */
export async function machineId(): Promise<string> {
  if (IS_WINDOWS) return (await windowsIdentity()).machineId;
  const id = (await textOf('/etc/machine-id')) ?? '';
  // "uninitialized" stands there until the first boot has set one.
  return /^[0-9a-f]{32}$/.test(id) ? id : '';
}

/** Where the kernel has the id of a boot (random(4)). */
const BOOT_ID_FILE = '/proc/sys/kernel/random/boot_id';

/** The kernel's random id of this boot. */
export async function bootId(file: string = BOOT_ID_FILE): Promise<string> {
  if (IS_WINDOWS) return (await windowsIdentity()).bootId;
  return (await textOf(file)) ?? '';
}

/** Where cloud-init keeps the instance id; a parameter for tests. */
export interface CloudInitFiles {
  readonly instanceData: string;
  readonly instanceId: string;
}

const CLOUD_INIT: CloudInitFiles = {
  instanceData: '/run/cloud-init/instance-data.json',
  instanceId: '/var/lib/cloud/data/instance-id',
};

/**
 * The cloud's instance id: `v1.instance_id` of cloud-init's instance data, which is of this boot, else the id it has
 * stored on the disk. Undefined without cloud-init, or where it has no id ("iid-datasource-none").
 */
export async function cloudInstanceId(files: CloudInitFiles = CLOUD_INIT): Promise<string | undefined> {
  const id = instanceIdIn(await textOf(files.instanceData)) ?? (await textOf(files.instanceId));
  return id === undefined || id === '' || id === 'iid-datasource-none' ? undefined : id;
}

/** Milliseconds since the kernel was booted, by a clock that never jumps; suspended time before the first call counts. */
export function sinceBootMs(): number {
  bootOffsetMs ??= uptimeMs() - performanceMs();
  return performanceMs() + bootOffsetMs;
}

let bootOffsetMs: number | undefined;

/** First number of /proc/uptime: CLOCK_BOOTTIME in seconds, to 10 ms (proc_uptime(5)). */
function uptimeMs(): number {
  if (IS_WINDOWS) return Math.round(uptime() * 1000);
  return Math.round(Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * 1000);
}

function performanceMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

function instanceIdIn(json: string | undefined): string | undefined {
  try {
    const data: unknown = JSON.parse(json ?? '');
    const v1 = isObject(data) ? data.v1 : undefined;
    const id = isObject(v1) ? v1.instance_id : undefined;
    return typeof id === 'string' && id !== '' ? id : undefined;
  } catch {
    return undefined;
  }
}

/** Asked with a script, once a process. */
function windowsIdentity(): Promise<{ readonly machineId: string; readonly bootId: string }> {
  identityOfWindows ??= import('../windows/facts.ts').then(({ readWindowsIdentity }) => readWindowsIdentity());
  return identityOfWindows;
}

let identityOfWindows: ReturnType<typeof windowsIdentity> | undefined;

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    return undefined;
  }
}

/**
 * How this program is started again by someone else (a unit): the absolute path of the single binary, or of Node and the
 * script where it runs from source.
 */
export function selfCommand(): readonly string[] {
  const [, script] = process.argv;
  return isSea() || script === undefined ? [process.execPath] : [process.execPath, resolve(script)];
}
