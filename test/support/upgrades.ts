import { NEXT_RELEASE } from '../../scripts/lab/artefacts.ts';
import { type DocumentTree, merge } from './documents.ts';
import { DOCUMENT, type Node, type PlannedChange, type Provisioned, parseStatus, type Run } from './lab.ts';

/** The images of a release that differ from those of the release before; pause and CoreDNS stay. */
const NEW_IMAGES = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy', 'etcd'];
/** What the lab has no real image for: the Job that kubeadm runs ends only with the real pause, and CoreDNS only pauses. */
const NOT_HERE = ['--ignore-preflight-errors', 'CreateJob,CoreDNSUnsupportedPlugins,CoreDNSMigration'];

/** The command that upgrades a node of the lab to the version of its document. */
export const UPGRADE = ['upgrade', '-f', DOCUMENT, '-o', 'json', ...NOT_HERE];

/**
 * Adds a pod network, so that nodes become Ready: kubeadm upgrades no cluster with control planes that are not.
 *
 * @param index of the machine, for the addresses of its pods
 */
export function networked(document: DocumentTree, index: number): DocumentTree {
  const ipam = { type: 'host-local', ranges: [[{ subnet: `10.244.${index}.0/24` }]] };
  const network = {
    cniVersion: '0.4.0',
    name: 'e2e',
    plugins: [{ type: 'bridge', bridge: 'cni0', isDefaultGateway: true, ipam }],
  };
  const { host } = document as { host: { files: readonly object[] } };
  const file = { path: '/etc/cni/net.d/10-e2e.conflist', content: `${JSON.stringify(network)}\n` };
  return merge(document, { host: { files: [...host.files, file] } });
}

/** The document of a node for the release in the layer of `buildNextRelease`. */
export function upgradeDocument(document: DocumentTree, version: string): DocumentTree {
  const archives = ['pause', 'coredns']
    .map((name) => `/opt/images/${name}.tar`)
    .concat(NEW_IMAGES.map((name) => `${NEXT_RELEASE}/images/${name}.tar`))
    .map((path) => ({ path }));
  return merge(document, { kubernetes: { version }, images: { archives } });
}

/** Installs kubeadm and the kubelet of that release. The running kubelet stays the old one until it is restarted. */
export async function installPrograms(node: Node): Promise<void> {
  await node.machine.shell(
    `for one in kubeadm kubelet; do install -m 755 ${NEXT_RELEASE}/bin/$one "$(command -v $one)"; done`,
  );
}

/** Upgrades a node to the version of its document. */
export async function upgrade(node: Node, ...options: readonly string[]): Promise<Provisioned> {
  const run = await node.agent([...UPGRADE, ...options], [], 20 * 60_000);
  return { ...run, ...parseStatus(run) };
}

/** What an upgrade would do, and what is in its way. */
export interface UpgradePlan {
  readonly exitCode: number;
  readonly changes: readonly PlannedChange[];
  /** The ids of the changes. */
  readonly ids: readonly string[];
  readonly problems: readonly { readonly code: string; readonly message: string }[];
}

/** Runs `upgrade --dry-run`. */
export async function planUpgrade(node: Node, ...options: readonly string[]): Promise<UpgradePlan> {
  const run = await node.agent([...UPGRADE, '--dry-run', ...options]);
  const { changes, problems }: Pick<UpgradePlan, 'changes' | 'problems'> = JSON.parse(run.stdout);
  return { exitCode: run.exitCode, changes, ids: changes.map(({ id }) => id), problems };
}

/** Ends an upgrade by SIGKILL as it makes its nth record durable. */
export async function killUpgrade(node: Node, nth: number): Promise<Run> {
  const wrapper = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=fdatasync'];
  return await node.agent(UPGRADE, [...wrapper, '-e', `inject=fdatasync:signal=SIGKILL:when=${nth}`]);
}
