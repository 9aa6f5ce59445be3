import { parseVersion, type Version } from '@machineadm/document/text/program-version.ts';
import type { Facts } from './facts.ts';
import type { QueryHost } from './host.ts';

/** Versions by the name and the file of a program: a run asks again after each group of hooks. */
const known = new Map<string, Version>();

/** The reported versions of the programs that Kubernetes needs; undefined where one is not installed. */
export async function installedVersions(
  host: Pick<QueryHost, 'query' | 'which' | 'openFile'>,
): Promise<Pick<Facts, 'containerd' | 'kubeadm' | 'kubelet'>> {
  const versionOf = async (program: string, ...args: readonly string[]): Promise<Version | undefined> => {
    const path = await host.which(program);
    if (path === undefined) return undefined;
    // Looked up before the program runs: a file that is replaced meanwhile has another identity afterwards.
    const identity = await elfIdentity(host, path);
    const earlier = known.get(`${program} ${identity}`);
    if (earlier !== undefined) return earlier;
    const result = await host.query({ program, args });
    const version = result.status === 0 ? parseVersion(result.stdout) : undefined;
    if (identity !== undefined && version !== undefined) known.set(`${program} ${identity}`, version);
    return version;
  };
  const [containerd, kubeadm, kubelet] = await Promise.all([
    versionOf('containerd', '--version'),
    versionOf('kubeadm', 'version', '-o', 'short'),
    versionOf('kubelet', '--version'),
  ]);
  return { containerd, kubeadm, kubelet };
}

/** Changes with the file of a program; undefined for a script, which may start a program that changes without it. */
async function elfIdentity(host: Pick<QueryHost, 'openFile'>, path: string): Promise<string | undefined> {
  try {
    await using file = await host.openFile(path);
    return Buffer.from((await file?.read(0, 4)) ?? []).toString('latin1') === '\x7fELF' ? file?.identity : undefined;
  } catch {
    return undefined;
  }
}

/** The architecture as Kubernetes and container images name it (Go's GOARCH), from Node's name. */
export function goArchitecture(name: string): string {
  return name === 'x64' ? 'amd64' : name;
}
