import { type Finding, formatPath } from '../../diagnostics/index.ts';
import { isKubeletPatch } from '../../kubernetes-releases/kubeadm.ts';
import { minorOf } from '../../kubernetes-releases/minor.ts';
import { foreignYamlDocuments } from '../../yaml/foreign-yaml.ts';
import { judgeKubeletPatch } from './checks-kubelet-configuration.ts';
import type { KubernetesSection } from './index.ts';

/** A file of the document with its text in it. */
interface WrittenFile {
  readonly path: string;
  readonly content?: string | undefined;
  readonly encoding?: string | undefined;
}

/**
 * The kubelet's configuration in files that the document writes: patches for kubeadm in `patches.directory`, and drop-ins of
 * the kubelet in the directory of its argument `config-dir`.
 */
export async function checkKubeletFiles(
  { version, bootstrapper, node }: KubernetesSection,
  files: readonly WrittenFile[],
): Promise<Finding[]> {
  const patches = bootstrapper?.kubeadm?.patches;
  const directory = patches === undefined || Array.isArray(patches) ? undefined : patches.directory;
  const dropIns = node?.kubelet?.args?.findLast(({ name }) => name === 'config-dir')?.value;
  const findings: Finding[] = [];
  for (const [index, { path, content, encoding }] of files.entries()) {
    const at = path.lastIndexOf('/');
    const [parent, name] = [path.slice(0, at), path.slice(at + 1)];
    const isRead = (parent === directory && isKubeletPatch(name)) || (parent === dropIns && name.endsWith('.conf'));
    if (!isRead || content === undefined || encoding !== undefined) continue;
    for (const part of await foreignYamlDocuments(content)) {
      for (const { path: inside, message, hint } of judgeKubeletPatch(minorOf(version), part)) {
        const place = { path: ['host', 'files', index, 'content'], message: `${formatPath(inside)}: ${message}` };
        findings.push({ code: 'RefusedByKubernetes', ...place, ...(hint === undefined ? {} : { hint }) });
      }
    }
  }
  return findings;
}
