import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LAB_DIRECTORY } from './artefacts.ts';
import { mustRun, run } from './process.ts';

export const BRIDGE = 'machineadm0';
export const GATEWAY = '10.99.0.1';

/**
 * Kernel settings without a namespace: the machines share them with the host, and a kubelet in a machine writes them
 * (k/k pkg/kubelet/cm/container_manager_linux.go setupKernelTunables).
 */
export const SHARED_SETTINGS: readonly string[] = [
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
  'kernel/keys/root_maxbytes',
];

const SAVED = join(LAB_DIRECTORY, 'kernel-settings.json');

/** Saves the kernel settings and creates the bridge, before the first machine boots. The caller must hold the lab's lock. */
export async function prepareHost(): Promise<void> {
  if (!existsSync(SAVED)) {
    const settings = SHARED_SETTINGS.filter((key) => existsSync(`/proc/sys/${key}`)).map((key) => [
      key,
      readSetting(key),
    ]);
    mkdirSync(LAB_DIRECTORY, { recursive: true });
    writeFileSync(SAVED, JSON.stringify(Object.fromEntries(settings)));
  }
  if ((await run('ip', ['link', 'show', BRIDGE])).status === 0) return;
  await mustRun('ip', ['link', 'add', BRIDGE, 'type', 'bridge']);
  await mustRun('ip', ['address', 'add', `${GATEWAY}/24`, 'dev', BRIDGE]);
  await mustRun('ip', ['link', 'set', BRIDGE, 'up']);
}

/** Restores the kernel settings and removes the bridge, after the last machine is removed. */
export async function restoreHost(): Promise<void> {
  await run('ip', ['link', 'delete', BRIDGE]);
  if (!existsSync(SAVED)) return;
  const saved: Record<string, string> = JSON.parse(readFileSync(SAVED, 'utf8'));
  for (const [key, value] of Object.entries(saved)) {
    if (readSetting(key) !== value) writeFileSync(`/proc/sys/${key}`, value);
  }
  rmSync(SAVED);
}

function readSetting(key: string): string {
  return readFileSync(`/proc/sys/${key}`, 'utf8').trim();
}
