import { readFileSync } from 'node:fs';
import { stringAt } from '@machineadm/document/values/untyped.ts';

const IS_WINDOWS = process.platform === 'win32';

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

function instanceIdIn(json: string | undefined): string | undefined {
  try {
    return stringAt(JSON.parse(json ?? ''), 'v1', 'instance_id') || undefined;
  } catch {
    return undefined;
  }
}

/** Read with a script, once per process. */
function windowsIdentity(): Promise<{ readonly machineId: string; readonly bootId: string }> {
  identityOfWindows ??= import('./windows-facts.ts').then(({ readWindowsIdentity }) => readWindowsIdentity());
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
