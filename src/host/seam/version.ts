import { parseVersion, type Version } from '@machineadm/document/program-version.ts';
import type { Facts } from './facts.ts';
import type { QueryHost } from './host.ts';

/** The reported versions of the programs that Kubernetes needs; undefined where one is not installed. */
export async function installedVersions(
  host: Pick<QueryHost, 'query'>,
): Promise<Pick<Facts, 'containerd' | 'kubeadm' | 'kubelet'>> {
  const versionOf = async (program: string, ...args: readonly string[]): Promise<Version | undefined> => {
    const result = await host.query({ program, args });
    return result.status === 0 ? parseVersion(result.stdout) : undefined;
  };
  const [containerd, kubeadm, kubelet] = await Promise.all([
    versionOf('containerd', '--version'),
    versionOf('kubeadm', 'version', '-o', 'short'),
    versionOf('kubelet', '--version'),
  ]);
  return { containerd, kubeadm, kubelet };
}

/** The architecture as Kubernetes and container images name it (Go's GOARCH), from Node's name. */
export function goArchitecture(name: string): string {
  return name === 'x64' ? 'amd64' : name;
}
