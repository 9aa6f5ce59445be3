import { dirname } from 'node:path/posix';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { foreignYaml } from '@machineadm/document/yaml/foreign-yaml.ts';
import { kmsSockets } from '@machineadm/kubeadm/api-server-component.ts';
import type { QueryHost } from '../../host/seam/host.ts';

/**
 * Without its KMS plugin the API server never becomes ready. A plugin on the machine itself must be running by now; a
 * plugin in a static pod of the document starts together with the API server, which waits for it.
 *
 * @throws MachineadmError `KMSSocketMissing`
 */
export async function requireKmsSockets(host: QueryHost, { controlPlane }: KubernetesModel): Promise<void> {
  const sockets = kmsSockets(controlPlane.apiServer.encryptionAtRest?.providers ?? []);
  if (sockets.length === 0) return;
  const made = await podDirectories(controlPlane.staticPods.map(({ manifest }) => manifest));
  for (const socket of sockets) {
    if (made.has(dirname(socket))) continue;
    const stat = await host.stat(socket);
    if (stat?.type === 'socket') continue;
    const found = stat === undefined ? 'no such file' : `it is a ${stat.type}`;
    throw new MachineadmError({
      reason: 'KMSSocketMissing',
      summary: `The KMS plugin of kubernetes.controlPlane.apiServer.encryptionAtRest does not listen on ${socket}: ${found}.`,
      remedy:
        'Start the plugin first (host.services, host.hooks.early), add it as a static pod that mounts the directory of the socket, or correct the endpoint.',
      evidence: [{ source: socket, text: found }],
    });
  }
}

/** Host directories that pods mount. */
async function podDirectories(manifests: readonly string[]): Promise<ReadonlySet<string>> {
  const directories = new Set<string>();
  if (manifests.length === 0) return directories;
  for (const manifest of manifests) {
    const volumes = member(member(await foreignYaml(manifest), 'spec'), 'volumes');
    for (const volume of Array.isArray(volumes) ? volumes : []) {
      const path = text(member(member(volume, 'hostPath'), 'path'));
      if (path !== undefined) directories.add(path.replace(/\/$/, ''));
    }
  }
  return directories;
}
