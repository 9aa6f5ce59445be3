import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import {
  ADMIN_KUBECONFIG,
  CONTROLLER_MANAGER_KUBECONFIG,
  DEFAULT_ETCD_DATA_DIRECTORY,
  SCHEDULER_KUBECONFIG,
  SUPER_ADMIN_KUBECONFIG,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import { publicKeyHash } from '../../host/cluster/cluster-info.ts';
import { readKubeconfig } from '../../host/cluster/kubeconfig.ts';
import { certificatesOnDisk, serviceAccountKeyOnDisk } from '../../host/cluster/node-certificates.ts';
import { spaceOf } from '../../host/linux/file-system-space.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { requirePinnedAuthority, tokenDiscoveryOf } from '../join-credentials.ts';
import type { NodeObstacle } from './node-obstacles.ts';
import type { OwnChecks } from './own-checks.ts';

const FIELD = 'kubernetes';
const MIB = 1024 * 1024;
/** etcd allocates the first segment of its write-ahead log whole (etcd server/storage/wal, SegmentSizeBytes). */
const ETCD_BYTES = 64_000_000;
/** The certificates, manifests and kubeconfigs of a control plane take less than 100 kB. */
const FEW_BYTES = 64 * 1024;

/** File systems that are full or read-only, where kubeadm, the kubelet, the runtime and etcd write. */
export async function placeObstacles(
  host: QueryHost,
  { kubernetes, isMounted }: OwnChecks,
): Promise<readonly NodeObstacle[]> {
  const { role, controlPlane } = kubernetes;
  const { etcd } = controlPlane;
  const places: (readonly [path: string, least: number])[] = [
    ['/etc/kubernetes', FEW_BYTES],
    ['/var/lib/kubelet', MIB],
    ['/var/log/pods', FEW_BYTES],
    ['/run', FEW_BYTES],
  ];
  if (role !== 'Worker' && etcd.kind === 'local') {
    places.push([etcd.dataDirectory ?? DEFAULT_ETCD_DATA_DIRECTORY, ETCD_BYTES]);
  }
  const found: NodeObstacle[] = [];
  for (const [path, least] of places) {
    if (isMounted(path)) continue;
    const space = await spaceOf(host, path);
    if (space === undefined) continue;
    const { target, readOnly, freeBytes } = space;
    if (readOnly) {
      const what = `the file system of ${path} (${target}) is read-only, and a node writes there`;
      found.push({ reason: 'ReadOnlyFilesystem', what, remedy: `Mount ${target} writable.`, field: FIELD });
    } else if (freeBytes < least) {
      found.push({
        reason: 'DiskFull',
        what: `the file system of ${path} (${target}) is full: ${Math.floor(freeBytes / 1024)} KiB are free, and a node needs ${Math.ceil(least / 1024)} KiB there`,
        remedy: `Free space on ${target}, or mount a larger file system at ${path} (host.storage.mounts).`,
        field: FIELD,
      });
    }
  }
  return found;
}

/** Certificates and kubeconfigs of an earlier cluster, or damaged ones, that kubeadm would use or refuse. */
export async function credentialObstacles(
  host: QueryHost,
  { kubernetes, isProvided }: OwnChecks,
  now: number,
): Promise<readonly NodeObstacle[]> {
  const { role, cluster } = kubernetes;
  if (role === 'Worker') return [];
  const { certificatesDirectory } = cluster;
  if (role === 'JoinControlPlane') {
    const path = `${certificatesDirectory}/ca.crt`;
    return isProvided(path) ? [] : await pinnedAuthority(host, kubernetes, path);
  }
  const serviceAccount = await serviceAccountKeyOnDisk(host, certificatesDirectory);
  const authorities = new Map(
    Object.entries({
      'ca.crt': kubernetes.pki.ca,
      'etcd/ca.crt': kubernetes.pki.etcd,
      'front-proxy-ca.crt': kubernetes.pki.frontProxy,
    }).flatMap(([name, pair]) => (pair === undefined ? [] : [[name, pair.certificate] as const])),
  );
  const all = await certificatesOnDisk(host, now, certificatesDirectory, authorities);
  const found: NodeObstacle[] = [];
  for (const { path, text, problem } of serviceAccount === undefined ? all : [...all, serviceAccount]) {
    if (problem?.severity !== 'failed' || isProvided(path) || !path.startsWith(certificatesDirectory)) continue;
    // kubeadm reads only those that its phases need.
    const severity = problem.reason === 'CertificateUnreadable' ? { severity: 'warning' as const } : {};
    found.push({ reason: problem.reason, what: text, remedy: problem.remedy, field: FIELD, ...severity });
  }
  return [
    ...found,
    ...(await foreignKubeconfigs(host, `${certificatesDirectory}/ca.crt`, authorities.get('ca.crt'), isProvided)),
  ];
}

/** kubeadm keeps a kubeconfig that exists, and refuses one of another authority (k/k cmd/kubeadm/app/phases/kubeconfig). */
async function foreignKubeconfigs(
  host: QueryHost,
  authorityPath: string,
  provided: string | undefined,
  isProvided: (path: string) => boolean,
): Promise<readonly NodeObstacle[]> {
  // A file of the document or a hook writes another one.
  if (provided === undefined && isProvided(authorityPath)) return [];
  const authority = provided ?? (await host.readText(authorityPath));
  const hash = authority === undefined ? undefined : publicKeyHash(authority);
  const found: NodeObstacle[] = [];
  for (const path of [ADMIN_KUBECONFIG, SUPER_ADMIN_KUBECONFIG, CONTROLLER_MANAGER_KUBECONFIG, SCHEDULER_KUBECONFIG]) {
    if (isProvided(path)) continue;
    const kubeconfig = await readKubeconfig(host, path).catch(() => undefined);
    if (kubeconfig === undefined || publicKeyHash(kubeconfig.certificateAuthority) === hash) continue;
    const whose = authority === undefined ? `and ${authorityPath} does not exist` : `not that of ${authorityPath}`;
    found.push({
      reason: 'StaleKubeconfig',
      what: `${path} has the CA of another cluster, ${whose}`,
      remedy:
        'First make sure that this machine is no node that works (machineadm doctor). Keep the file elsewhere if that cluster still exists, and remove it here.',
      field: FIELD,
    });
  }
  return found;
}

/** A CA on the disk that is not that of the cluster to join; a run refuses to overwrite it. */
async function pinnedAuthority(
  host: QueryHost,
  kubernetes: OwnChecks['kubernetes'],
  path: string,
): Promise<readonly NodeObstacle[]> {
  const discovery = tokenDiscoveryOf(kubernetes);
  const pem = discovery === undefined ? undefined : await host.readText(path);
  if (discovery === undefined || pem === undefined) return [];
  try {
    requirePinnedAuthority(discovery, path, pem);
    return [];
  } catch (error) {
    if (!(error instanceof MachineadmError)) throw error;
    return [
      {
        reason: error.reason,
        what: error.message.replace(' Nothing was changed.', ''),
        remedy: error.remedy,
        field: FIELD,
      },
    ];
  }
}
