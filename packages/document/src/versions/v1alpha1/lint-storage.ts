import { type Finding, nearestName, type PathSegment } from '../../diagnostics/index.ts';
import type { DeviceSection } from '../../host-parts/storage-device.ts';
import type { StorageSection } from '../../host-parts/storage-schema.ts';
import type { KubernetesSection } from '../../sections/kubernetes/index.ts';
import type { Sections } from './sections.ts';

/** kubeadm's default (k/k cmd/kubeadm/app/apis/kubeadm/v1beta4/defaults.go, DefaultEtcdDataDir). */
const ETCD_DATA = '/var/lib/etcd';

const STORAGE: readonly PathSegment[] = ['host', 'storage'];

/** What `host.storage` may ask for and will hurt. */
export function lintStorage({ host, kubernetes }: Sections): Finding[] {
  const storage = host?.storage;
  if (storage === undefined) return [];
  return [
    ...etcdOnMountPoint(storage, kubernetes),
    ...swapUnderKubelet(storage, kubernetes),
    ...filesystemsNowhereMounted(storage),
    ...labelsNobodyMakes(storage),
  ];
}

/** A fresh ext4 holds lost+found, which kubeadm's preflight check DirAvailable takes for user data. */
function etcdOnMountPoint({ mounts = [] }: StorageSection, kubernetes: KubernetesSection | undefined): Finding[] {
  if (kubernetes === undefined || kubernetes.role === 'Worker') return [];
  const data = kubernetes.controlPlane?.etcd?.local?.dataDirectory ?? ETCD_DATA;
  return mounts.flatMap(({ device, path }, index) => {
    if (device === undefined || path?.replace(/(.)\/$/, '$1') !== data) return [];
    const message = `etcd's data directory is a mount point: its lost+found makes kubeadm refuse the directory`;
    const hint = `mount on ${data}-disk and set kubernetes.controlPlane.etcd.local.dataDirectory to ${data}-disk/data`;
    return [{ path: [...STORAGE, 'mounts', index, 'path'], message, hint }];
  });
}

/** KubeletConfiguration v1beta1: failSwapOn is true unless said otherwise. */
function swapUnderKubelet({ mounts = [] }: StorageSection, kubernetes: KubernetesSection | undefined): Finding[] {
  const kubelet = kubernetes?.node?.kubelet;
  const tolerates =
    kubelet?.config?.failSwapOn === false ||
    kubelet?.args?.some(({ name, value }) => name === 'fail-swap-on' && value === 'false');
  if (kubernetes === undefined || tolerates) return [];
  return mounts.flatMap(({ type }, index) => {
    if (type !== 'swap') return [];
    const message = 'switches swap on, and this kubelet does not start with swap';
    const hint = 'set kubernetes.node.kubelet.config.failSwapOn to false';
    return [{ path: [...STORAGE, 'mounts', index], message, hint }];
  });
}

function filesystemsNowhereMounted({ filesystems = [], mounts = [] }: StorageSection): Finding[] {
  const named = new Set(mounts.flatMap(({ device }) => (device === undefined ? [] : identity(device))));
  return filesystems.flatMap((filesystem, index) => {
    const label = filesystem.label === undefined ? [] : [identity({ label: filesystem.label })];
    if ([identity(filesystem.device), ...label].some((name) => named.has(name))) return [];
    const message = 'no mount of the document names this file system by its device or its label';
    return [{ path: [...STORAGE, 'filesystems', index], message, hint: 'add it to host.storage.mounts' }];
  });
}

/** Only what looks like a slip of the pen: a label that the document does not make may be on a disk that is kept. */
function labelsNobodyMakes({ disks = [], filesystems = [], mounts = [] }: StorageSection): Finding[] {
  const made = {
    label: filesystems.flatMap(({ label }) => label ?? []),
    partitionLabel: disks.flatMap(({ partitions }) => partitions.flatMap(({ label }) => label ?? [])),
  };
  const findings: Finding[] = [];
  const judge = (device: DeviceSection, path: readonly PathSegment[]): void => {
    for (const kind of ['label', 'partitionLabel'] as const) {
      const label: unknown = Reflect.get(device, kind);
      if (typeof label !== 'string' || made[kind].includes(label)) continue;
      const near = nearestName(label, made[kind]);
      if (near === undefined) continue;
      const message = `nothing in the document makes the label "${label}"`;
      findings.push({ path: [...path, 'device', kind], message, hint: `did you mean "${near}"?` });
    }
  };
  filesystems.forEach(({ device }, index) => {
    judge(device, [...STORAGE, 'filesystems', index]);
  });
  mounts.forEach(({ device }, index) => {
    if (device !== undefined) judge(device, [...STORAGE, 'mounts', index]);
  });
  return findings;
}

/** The device without how long to wait for it. */
function identity(device: DeviceSection): string {
  const { timeout: _timeout, ...rest } = device;
  return JSON.stringify(rest, Object.keys(rest).sort());
}
