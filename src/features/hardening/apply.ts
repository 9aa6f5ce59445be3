import { KUBELET_CONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { QUIET } from '@machineadm/document/yaml/foreign-yaml.ts';
import type { Host } from '../../host/seam/host.ts';
import { changeComponent, type Pace } from '../../kubernetes/hardening/component-restart.ts';
import { withoutFlag } from '../../kubernetes/hardening/kubelet-flags.ts';
import type { Execution } from '../../step/index.ts';
import type { HardeningPlace } from './changes.ts';

/**
 * Applies the controls of one place. The kubelet reads its files when it restarts, which is a follow-up of the change.
 */
export async function applyPlace(host: Host, place: HardeningPlace, execution: Execution, pace: Pace): Promise<void> {
  switch (place.kind) {
    case 'component':
      return await changeComponent(host, place.component, place.edits, {
        pace,
        signal: execution.signal,
        waitingFor: (what) => execution.waitingFor(what),
      });
    case 'kubelet':
      if (place.kubeletFields.size > 0) await changeConfiguration(host, place.kubeletFields);
      for (const [path, flags] of place.kubeletFlags) {
        await rewrite(host, path, (text) => flags.reduce(withoutFlag, text));
      }
      return;
    case 'files':
      for (const [path, { uid, gid }] of place.owners) await host.chown(path, uid, gid);
      // After the owner: chown clears setuid and setgid (chown(2)).
      for (const [path, mode] of place.modes) await host.chmod(path, mode);
      return;
    case 'services':
      for (const { name, act } of place.services) await host.services[act](name);
  }
}

async function changeConfiguration(host: Host, fields: ReadonlyMap<string, unknown>): Promise<void> {
  const { parseDocument } = await import('yaml');
  await rewrite(host, KUBELET_CONFIG, (text) => {
    const document = parseDocument(text, QUIET);
    for (const [field, value] of fields) {
      const path = field.split('.');
      if (value === null) document.deleteIn(path);
      else document.setIn(path, document.createNode(value));
    }
    return document.toString({ lineWidth: 0 });
  });
}

/** The same file with different content. */
async function rewrite(host: Host, path: string, change: (text: string) => string): Promise<void> {
  const [text, stat] = [await host.readText(path), await host.stat(path)];
  if (text === undefined || stat === undefined) return;
  const { mode, uid, gid } = stat;
  await host.writeFile({ path, content: change(text), mode, uid, gid });
}
