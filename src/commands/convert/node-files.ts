import { createHash } from 'node:crypto';
import { join } from 'node:path/posix';
import { usageError } from '../../cli/usage-error.ts';
import { RootTree } from '../../host/local-files/root-tree.ts';

/** Limits: a node's own files are far below, and others may be anything. */
const LONGEST_FILE = 1024 * 1024;
const LONGEST_PACKAGES = 16 * 1024 * 1024;
const MOST_FILES = 500;

const FILES = [
  '/etc/hostname',
  '/etc/default/kubelet',
  '/etc/sysconfig/kubelet',
  '/etc/containerd/config.toml',
  '/etc/kubernetes/admin.conf',
  '/etc/kubernetes/kubelet.conf',
  '/etc/kubernetes/pki/ca.crt',
  '/etc/kubernetes/pki/etcd/ca.crt',
  '/etc/kubernetes/pki/front-proxy-ca.crt',
  '/etc/kubernetes/pki/sa.pub',
  '/var/lib/kubelet/config.yaml',
  '/var/lib/kubelet/instance-config.yaml',
  '/var/lib/kubelet/kubeadm-flags.env',
];
/** Private: only whether they are there is of interest. */
const KEYS = ['ca.key', 'etcd/ca.key', 'front-proxy-ca.key', 'sa.key'].map((name) => `/etc/kubernetes/pki/${name}`);
const DIRECTORIES: readonly (readonly [string, string])[] = [
  ['/etc/kubernetes/manifests', '.yaml'],
  ['/etc/modules-load.d', '.conf'],
  ['/etc/sysctl.d', '.conf'],
  ['/etc/containerd/conf.d', '.toml'],
  ['/etc/systemd/system/containerd.service.d', '.conf'],
  ['/etc/systemd/system/kubelet.service.d', '.conf'],
];
/** Directories of registries, with hosts.toml and certificates in each. */
const REGISTRIES = '/etc/containerd/certs.d';
const OF_REGISTRY = /^hosts\.toml$|\.(?:crt|pem)$/;

/**
 * The files of a node that `machineadm convert --from-node` reads, below a root directory. Nothing is changed or executed, no link
 * leads out of the root, and no file of a private key is opened. Throws `UsageInvalid` where the root is not a directory.
 */
export function readNodeFiles(root: string) {
  const tree = open(root);
  const packages = tree.readRange('/var/lib/dpkg/status', 0, LONGEST_PACKAGES);
  const installed = readPackages(packages === undefined ? '' : new TextDecoder().decode(packages));
  const registries = tree.list(REGISTRIES).map((name) => join(REGISTRIES, name));
  const paths = [
    ...FILES,
    ...DIRECTORIES.flatMap(([directory, ending]) => namesIn(tree, directory, (name) => name.endsWith(ending))),
    ...registries.flatMap((directory) => namesIn(tree, directory, (name) => OF_REGISTRY.test(name))),
  ];
  const files: { path: string; text: string; mode: number; uid: number; gid: number }[] = [];
  const unread: { path: string; why: string }[] = [];
  for (const path of paths) {
    const entry = tree.stat(path);
    if (entry === undefined) continue;
    const why = entry.type !== 'file' ? 'no regular file' : whyNot(entry.size, files.length);
    const bytes = why === undefined ? tree.readRange(path, 0, LONGEST_FILE) : undefined;
    const text = bytes === undefined ? undefined : decoded(bytes);
    if (bytes !== undefined && text !== undefined) {
      if (installed.digests.get(entry.path) === createHash('md5').update(bytes).digest('hex')) continue;
      files.push({ path, text, mode: entry.mode & 0o777, uid: entry.uid, gid: entry.gid });
    } else {
      unread.push({ path, why: why ?? (bytes === undefined ? 'it cannot be read: run as root' : 'no text') });
    }
  }
  const present = KEYS.filter((path) => tree.stat(path) !== undefined);
  return { root, files, present, unread, kubeletVersion: installed.kubelet };
}

function open(root: string): RootTree {
  try {
    const tree = new RootTree(root);
    if (tree.stat('/')?.type === 'directory') return tree;
  } catch {
    // It does not exist, or cannot be entered.
  }
  throw usageError(
    `--from-node: ${root} is not a directory`,
    'Name the root directory of the node, or leave it out for this machine.',
  );
}

function namesIn(tree: RootTree, directory: string, isWanted: (name: string) => boolean): readonly string[] {
  return tree
    .list(directory)
    .filter(isWanted)
    .map((name) => join(directory, name));
}

function whyNot(size: number, count: number): string | undefined {
  if (size > LONGEST_FILE) return 'larger than 1 MiB';
  return count >= MOST_FILES ? `one of more than ${MOST_FILES} files` : undefined;
}

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** What dpkg has installed: the version of the kubelet, and the configuration files of packages as they came. */
function readPackages(status: string): {
  readonly kubelet: string | undefined;
  readonly digests: ReadonlyMap<string, string>;
} {
  const digests = new Map<string, string>();
  let kubelet: string | undefined;
  let name = '';
  for (const line of status.split('\n')) {
    if (line.startsWith('Package: ')) name = line.slice('Package: '.length);
    else if (line.startsWith('Version: ') && name === 'kubelet') {
      const version = /^(\d+\.\d+\.\d+)-/.exec(line.slice('Version: '.length))?.[1];
      kubelet = version === undefined ? undefined : `v${version}`;
    } else if (line.startsWith(' /')) {
      const [path = '', digest = ''] = line.trim().split(' ');
      digests.set(path, digest);
    }
  }
  return { kubelet, digests };
}
