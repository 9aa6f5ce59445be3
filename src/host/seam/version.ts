import type { Facts, Version } from './facts.ts';
import type { QueryHost } from './host.ts';

/**
 * Finds the version in a program's output: `containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+b1`,
 * `v1.20.2`, `Kubernetes v1.31.0-rc.1+build`. Pre-release and build parts are dropped from the numbers and kept in
 * `text`, the word that contains the version. Undefined without a version.
 */
export function parseVersion(text: string): Version | undefined {
  // Must be a separate word: a commit hash or a module path such as `github.com/containerd/containerd/v2` does not
  // count.
  const match = /(?:^|\s)(v?(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?(?:[-+~.][0-9A-Za-z._+~-]*)?)(?=\s|$)/.exec(text);
  if (match === null) return undefined;
  const [, word = '', major, minor, patch = '0'] = match;
  return { major: Number(major), minor: Number(minor), patch: Number(patch), text: word };
}

/** Orders two versions by major, minor and patch: negative, zero or positive, as for `Array.sort`. */
export function compareVersions(a: Version, b: Version): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch;
}

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
