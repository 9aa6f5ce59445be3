import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { AGENT, type Node } from './lab.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const SEED = '/var/lib/cloud/seed/nocloud';
export const CLOUD_INIT_LOG = '/var/log/cloud-init-output.log';

/** The files from which cloud-init takes its user data, and the instance; with a host name where it is to set that. */
export function noCloudSeed(userData: string, instance: string, hostname?: string): Readonly<Record<string, string>> {
  const name = hostname === undefined ? {} : { 'local-hostname': hostname };
  return {
    [`${SEED}/user-data`]: userData,
    [`${SEED}/meta-data`]: stringify({ 'instance-id': `iid-${instance}`, ...name }),
  };
}

/** Lays the binary where a machine has it, in a layer over the machine image. */
export function layAgent(layer: string): void {
  mkdirSync(join(layer, dirname(AGENT)), { recursive: true });
  copyFileSync(join(ROOT, 'dist/machineadm'), join(layer, AGENT));
}

/** A layer as image-builder makes it, with machineadm in it. */
export function layNodeImage(layer: string): void {
  layAgent(layer);
  // image-builder bakes this into every image (images/capi/ansible/roles/node/tasks/main.yml), the provider never says it.
  mkdirSync(join(layer, 'etc/sysctl.d'), { recursive: true });
  writeFileSync(join(layer, 'etc/sysctl.d/99-sysctl-kubernetes.conf'), 'net.ipv4.ip_forward = 1\n');
}

/** Waits until cloud-init has ended, and asserts that it says `done`. */
export async function assertCloudInitDone(node: Node, timeoutMs: number): Promise<void> {
  const waited = await node.machine.exec(['cloud-init', 'status', '--wait', '--long'], { timeoutMs });
  assert.match(waited.stdout, /^status: done$/m, await node.read(CLOUD_INIT_LOG));
}
