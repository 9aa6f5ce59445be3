import { type Finding, nearestName, type PathSegment } from '../../diagnostics/index.ts';
import { plainPath } from '../../host-parts/paths-of-host.ts';
import type { DeviceSection } from '../../host-parts/storage-device.ts';
import type { StorageSection } from '../../host-parts/storage-schema.ts';
import { lintRegistries } from '../../sections/containerd/registries-checks.ts';
import type { KubernetesSection } from '../../sections/kubernetes/index.ts';
import { lintKubernetes } from '../../sections/kubernetes/lint.ts';
import { parseMode } from '../../text/units.ts';
import type { Sections } from './sections.ts';

/** Settings that are allowed but harmful: reported as warnings, section by section. */
export function lint(sections: Sections): readonly Finding[] {
  return [
    ...lintFiles(sections),
    ...lintStorage(sections),
    ...lintUsers(sections),
    ...lintRegistries(sections.containerRuntime?.containerd?.registries ?? [], sections.host?.proxy),
    ...(sections.kubernetes === undefined ? [] : lintKubernetes(sections.kubernetes)),
  ];
}

/** Files that their owner could not reach: the directories above belong to root where machineadm makes them. */
function lintFiles({ host }: Sections): Finding[] {
  const named = new Set((host?.directories ?? []).map(({ path }) => plainPath(path)));
  return (host?.files ?? []).flatMap(({ path, owner = 'root', directoryMode = '0755' }, index) => {
    const user = owner.split(':')[0] ?? owner;
    const isClosed = (parseMode(directoryMode) & 0o001) === 0;
    const directory = path.slice(0, path.lastIndexOf('/'));
    if (!isClosed || user === 'root' || user === '0' || named.has(directory)) return [];
    const message = `if ${directory} is created, it belongs to root, and ${user} cannot enter it with this mode`;
    const hint = `name it: directories: [{path: ${directory}, owner: "${owner}", mode: "${directoryMode}"}]`;
    return [{ path: ['host', 'files', index, 'directoryMode'], message, hint }];
  });
}

/** kubeadm's default (k/k cmd/kubeadm/app/apis/kubeadm/v1beta4/defaults.go, DefaultEtcdDataDir). */
const ETCD_DATA = '/var/lib/etcd';

const STORAGE: readonly PathSegment[] = ['host', 'storage'];

/** What `host.storage` may ask for and will hurt. */
function lintStorage({ host, kubernetes }: Sections): Finding[] {
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

/** Passwords that nobody can log in with: an account is locked unless the document says otherwise. */
function lintUsers({ host }: Sections): Finding[] {
  return (host?.users ?? []).flatMap(({ passwordHash, locked, absent }, index): Finding[] => {
    if (passwordHash === undefined || locked === false || absent === true) return [];
    if (passwordHash === '*' || passwordHash === '!') return [];
    const message = `no one can log in with the password of this account: it is locked${locked === true ? '' : ' by default'}`;
    const hint = 'add locked: false, or remove passwordHash';
    // At the user: behind the name of the field a report takes the text for a value, and hides it.
    return [{ path: ['host', 'users', index], message, hint }];
  });
}
