import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LAB_DIRECTORY } from './artefacts.ts';
import { mustRun, run } from './process.ts';

export const BRIDGE = 'machineadm0';
export const GATEWAY = '10.99.0.1';

/**
 * Settings of the one kernel that all machines share with the host, and that a kubelet writes whatever namespace it is
 * in (k/k pkg/kubelet/cm/container_manager_linux.go setupKernelTunables; kube-proxy: nf_conntrack_max).
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

/** Before the first machine boots: remembers the kernel's settings, and makes the bridge. Call it under the lab's lock. */
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

/** After the last machine is gone: gives the kernel its settings back and removes the bridge. */
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
