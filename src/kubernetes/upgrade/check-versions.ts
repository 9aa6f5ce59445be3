import { oldestKubelet, upgradeStepRefusal } from '@machineadm/document/kubernetes-releases/version-skew.ts';
import { compareVersions, parseVersion, type Version } from '@machineadm/document/text/program-version.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import type { ApiCredential } from '../../host/cluster/api-server.ts';
import type { NodeView } from '../node-client.ts';
import { allNodes, apiServers, serverVersion } from './cluster.ts';
import type { UpgradeObstacle, UpgradeOrder } from './obstacle.ts';
import { versionOfImage } from './running-version.ts';

/** Whether Kubernetes supports this step. Pure. */
export function stepObstacle({ from, to }: Pick<UpgradeOrder, 'from' | 'to'>): UpgradeObstacle | undefined {
  const refusal = upgradeStepRefusal(from, to);
  return refusal === undefined ? undefined : skew(refusal.what, refusal.remedy);
}

/**
 * Whether the cluster is ready for this node: a control plane before the workers, no kubelet newer than an API server, and
 * none that is too old for the new one. Throws `ClusterUnanswered`.
 */
export async function clusterObstacles(
  credential: ApiCredential,
  configuration: unknown,
  order: UpgradeOrder,
): Promise<readonly UpgradeObstacle[]> {
  const { to, nodeName, isControlPlane, ignored } = order;
  const wanted = parseVersion(to);
  if (wanted === undefined) return [];
  const cluster = text(member(configuration, 'kubernetesVersion')) ?? '';
  const servers = await apiServers(credential);
  const serving = await serverVersion(credential);
  return isControlPlane
    ? [
        ...ofControlPlane(wanted, cluster),
        ...(await nodeObstacles(credential, wanted, nodeName, isFirst(wanted, cluster) ? ignored : undefined)),
      ]
    : ofWorker(wanted, [
        ['the cluster (ConfigMap kubeadm-config)', cluster],
        ['the API server that answers', serving],
        ...imagesOf(servers),
      ]);
}

function ofControlPlane(wanted: Version, cluster: string): readonly UpgradeObstacle[] {
  const now = parseVersion(cluster);
  if (now === undefined)
    return [skew(`the cluster has the version "${cluster}" (ConfigMap kubeadm-config)`, 'Correct the ConfigMap.')];
  if (wanted.major === now.major && wanted.minor > now.minor + 1) {
    return [
      skew(
        `the cluster has Kubernetes ${cluster}, and ${wanted.text} is more than one minor version newer`,
        `Upgrade all control planes to ${now.major}.${now.minor + 1} first.`,
      ),
    ];
  }
  // Another control plane was upgraded further: `kubeadm upgrade node` would bring this one to the cluster's version.
  if (compareVersions(now, wanted) > 0) {
    return [
      skew(
        `the cluster has Kubernetes ${cluster} already, which is newer than ${wanted.text}`,
        `Write kubernetes.version: ${cluster}.`,
      ),
    ];
  }
  return [];
}

/** By the minor: patch releases of a minor work together. */
function ofWorker(wanted: Version, servers: readonly (readonly [string, string])[]): readonly UpgradeObstacle[] {
  const older = servers.filter(([, version]) => {
    const now = parseVersion(version);
    return now === undefined || now.major < wanted.major || (now.major === wanted.major && now.minor < wanted.minor);
  });
  if (older.length === 0) return [];
  const named = older.map(([name, version]) => `${name} has ${version || 'an unknown version'}`).join('; ');
  return [
    skew(
      `a kubelet must not be newer than the API server, and the kubelet here would be ${wanted.text}: ${named}`,
      'Upgrade all control planes first.',
    ),
  ];
}

function imagesOf(servers: ReadonlyMap<string, string> | undefined): readonly (readonly [string, string])[] {
  return [...(servers ?? [])].map(
    ([node, image]) => [`the API server of ${node}`, versionOfImage(image) ?? ''] as const,
  );
}

/** Whether no control plane has this version yet: `kubeadm upgrade apply` brings the cluster to it. */
function isFirst(wanted: Version, cluster: string): boolean {
  const now = parseVersion(cluster);
  return now !== undefined && compareVersions(now, wanted) < 0;
}

/** @param ignored checks of `kubeadm upgrade apply` to skip; undefined: it is not run */
async function nodeObstacles(
  credential: ApiCredential,
  wanted: Version,
  self: string,
  ignored: readonly string[] | undefined,
): Promise<readonly UpgradeObstacle[]> {
  const nodes = (await allNodes(credential)) ?? [];
  const skips = ignored === undefined || ignored.some((one) => ['all', NODES_READY].includes(one.toLowerCase()));
  return [...(skips ? [] : notReady(nodes)), ...oldKubelets(nodes, wanted, self)];
}

/** cmd/kubeadm/app/phases/upgrade/health.go, controlPlaneNodesReady; the names of checks are compared in lower case. */
const NODES_READY = 'controlplanenodesready';

function notReady(nodes: readonly NodeView[]): readonly UpgradeObstacle[] {
  const found = nodes.filter(({ controlPlane, ready }) => controlPlane && ready?.status !== 'True');
  if (found.length === 0) return [];
  const named = found.map(({ name, ready }) => `${name} (${ready?.message || 'it never reported'})`).join('; ');
  return [
    {
      reason: 'NodeNotReady',
      what: `kubeadm upgrades no cluster with control planes that are not Ready: ${named}`,
      remedy: 'Correct them first, or skip the check with --ignore-preflight-errors ControlPlaneNodesReady.',
    },
  ];
}

function oldKubelets(nodes: readonly NodeView[], wanted: Version, self: string): readonly UpgradeObstacle[] {
  const oldest = oldestKubelet(wanted);
  const old = nodes.filter(({ name, kubeletVersion }) => {
    const version = parseVersion(kubeletVersion);
    return name !== self && version !== undefined && version.major === wanted.major && version.minor < oldest;
  });
  if (old.length === 0) return [];
  const named = old.map(({ name, kubeletVersion }) => `${name} (${kubeletVersion})`).join(', ');
  return [
    skew(
      `${named}: an API server ${wanted.text} works with kubelets 1.${oldest} or newer`,
      'Upgrade the kubelets of these nodes first.',
    ),
  ];
}

function skew(what: string, remedy: string): UpgradeObstacle {
  return { reason: 'UpgradeVersionSkew', what, remedy };
}
