import { KUBELET_FLAGS_ENVIRONMENT } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { argumentsOf } from '@machineadm/hardening/manifest.ts';
import type { KubeletFlag } from '@machineadm/hardening/observed.ts';
import type { QueryHost } from '../../host/seam/host.ts';

/** The files that kubeadm's drop-in reads flags from (kubernetes/release cmd/krel/templates, 10-kubeadm.conf). */
const FLAG_FILES = [KUBELET_FLAGS_ENVIRONMENT, '/etc/default/kubelet', '/etc/sysconfig/kubelet'];

/** The flags of the kubelet's next start and, where it runs, of this one. */
export async function kubeletFlags(host: QueryHost): Promise<readonly KubeletFlag[]> {
  const flags: KubeletFlag[] = [];
  const add = (words: readonly string[], source: string): void => {
    for (const [name, value] of argumentsOf(words)) flags.push({ name, value, source });
  };
  for (const path of FLAG_FILES) add(wordsOf((await host.readText(path)) ?? ''), path);
  const { pid } = await host.service('kubelet');
  if (pid !== undefined) add((await commandLine(host, pid)).slice(1), 'the running kubelet');
  return flags;
}

/** The process may end in the meantime. */
async function commandLine(host: QueryHost, pid: number): Promise<readonly string[]> {
  try {
    return ((await host.readText(`/proc/${pid}/cmdline`)) ?? '').split('\0');
  } catch {
    return [];
  }
}

/** The text of a file of flags without one of them. */
export function withoutFlag(text: string, flag: string): string {
  return text.replaceAll(new RegExp(`(?<=["\\s=])--?${flag}(?:=[^\\s"]*)?(?=["\\s]|$)[ \\t]*`, 'g'), '');
}

/** The values of a file of assignments, split into words: `KUBELET_KUBEADM_ARGS="--a=b --c=d"`. */
function wordsOf(text: string): readonly string[] {
  return text
    .split('\n')
    .filter((line) => /^\s*[A-Z_]+=/.test(line))
    .flatMap((line) => line.slice(line.indexOf('=') + 1).split(/\s+/))
    .map((word) => word.replaceAll(/["']/g, ''));
}
