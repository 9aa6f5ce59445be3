import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { resolve } from 'node:path';
import { isSea } from 'node:sea';
import { stringAt } from '@machineadm/document/values/untyped.ts';
import { errnoOf } from '../files/file-error.ts';
import { LOCK_PATH } from '../files/paths.ts';
import { isRunning, parseProcessStat, readProcess } from '../linux/processes.ts';

/** The permanent identity of a process: a pid is reused, a pid with its start time is not. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Field 22 of /proc/PID/stat: clock ticks (1/100 s) since boot. */
  readonly startTicks: number;
}

const IS_WINDOWS = process.platform === 'win32';
/** In the same unit, since the epoch: on Windows the start time of another process can only be read with PowerShell. */
const TICK_MS = 10;

export function ownProcess(): ProcessIdentity {
  if (IS_WINDOWS) return { pid: process.pid, startTicks: Math.round(performance.timeOrigin / TICK_MS) };
  const own = parseProcessStat(readFileSync('/proc/self/stat', 'utf8'));
  return { pid: process.pid, startTicks: own?.startTicks ?? 0 };
}

/** True while exactly this process runs; a zombie or another process with the same pid does not count. */
export async function isProcessAlive(identity: ProcessIdentity): Promise<boolean> {
  // Only a run has such an identity, and a run holds the lock as long as it lives.
  if (IS_WINDOWS) return (await import('../windows/lock.ts')).holdsWindowsLock(LOCK_PATH, identity.pid);
  const found = await readProcess(identity.pid);
  if (found === undefined) return isHidden(identity.pid);
  return found.startTicks === identity.startTicks && isRunning(found);
}

/** The same at once, for processes of Linux; a zombie counts. */
export function isRunningNow({ pid, startTicks }: ProcessIdentity): boolean {
  return parseProcessStat(textOf(`/proc/${pid}/stat`) ?? '')?.startTicks === startTicks || isHidden(pid);
}

/** Whether a process exists that /proc hides from this user (mount option `hidepid`): kill(2) then fails with EPERM. */
function isHidden(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return errnoOf(error) === 'EPERM';
  }
}

/** The machine id of machine-id(5), 32 hex digits; empty where it is not set yet, as in an image. */
export async function machineId(): Promise<string> {
  if (IS_WINDOWS) return (await windowsIdentity()).machineId;
  const id = textOf('/etc/machine-id') ?? '';
  // The file contains "uninitialized" until the first boot.
  return /^[0-9a-f]{32}$/.test(id) ? id : '';
}

/** The kernel's id of the boot (random(4)). */
const BOOT_ID_FILE = '/proc/sys/kernel/random/boot_id';

/** The kernel's random id of this boot. */
export async function bootId(file: string = BOOT_ID_FILE): Promise<string> {
  if (IS_WINDOWS) return (await windowsIdentity()).bootId;
  return textOf(file) ?? '';
}

/** The path of cloud-init's instance id; a parameter for tests. */
export interface CloudInitFiles {
  readonly instanceData: string;
  readonly instanceId: string;
}

const CLOUD_INIT: CloudInitFiles = {
  instanceData: '/run/cloud-init/instance-data.json',
  instanceId: '/var/lib/cloud/data/instance-id',
};

/**
 * The cloud's instance id: `v1.instance_id` of cloud-init's instance data, which is of this boot, otherwise the id
 * stored on disk. Undefined without cloud-init, or where it has no id ("iid-datasource-none").
 */
export async function cloudInstanceId(files: CloudInitFiles = CLOUD_INIT): Promise<string | undefined> {
  const id = instanceIdIn(textOf(files.instanceData)) ?? textOf(files.instanceId);
  return id === undefined || id === '' || id === 'iid-datasource-none' ? undefined : id;
}

/**
 * Milliseconds since the kernel was booted, from a monotonic clock; includes the time that the machine was suspended
 * before the first call.
 */
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
    return stringAt(JSON.parse(json ?? ''), 'v1', 'instance_id') || undefined;
  } catch {
    return undefined;
  }
}

/** Read with a script, once per process. */
function windowsIdentity(): Promise<{ readonly machineId: string; readonly bootId: string }> {
  identityOfWindows ??= import('../windows/facts.ts').then(({ readWindowsIdentity }) => readWindowsIdentity());
  return identityOfWindows;
}

let identityOfWindows: ReturnType<typeof windowsIdentity> | undefined;

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/**
 * The command that starts this program again (for a unit): the absolute path of the single binary, or of Node and the
 * script where it runs from source.
 */
export function selfCommand(): readonly string[] {
  const [, script] = process.argv;
  return isSea() || script === undefined ? [process.execPath] : [process.execPath, resolve(script)];
}
