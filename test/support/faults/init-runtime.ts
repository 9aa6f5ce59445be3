import { imageOf } from '../lab-release.ts';
import type { Sabotage } from './sabotage.ts';
import { MANIFESTS_WRITTEN, otherArchitecture, otherArchitectureInImage, replaceBy, tmpfs, until } from './shell.ts';

const CONFIG = '/etc/containerd/config.toml';
const SHIM = '/usr/bin/containerd-shim-runc-v2';

/** The container runtime of a first control plane, its images, its cgroups. */
export const INIT_RUNTIME: readonly Sabotage[] = [
  {
    id: 'init-runc-missing',
    role: 'init',
    what: 'runc is not installed',
    // /usr/bin/runc of the lab is a link to it.
    before: 'rm /usr/sbin/runc',
    fixture: 'b09-init-runc-missing',
    core: true,
    expected: { reason: 'ProgramNotExecutable', exitCode: 4, proof: /runc is a link to nothing/ },
  },
  {
    id: 'init-runc-not-executable',
    role: 'init',
    what: 'runc is not executable',
    before: 'chmod 644 /usr/sbin/runc',
    expected: { reason: 'ProgramNotExecutable', exitCode: 4, proof: /is not executable/ },
  },
  {
    id: 'init-runc-other-architecture',
    role: 'init',
    what: 'runc is a program for another architecture',
    before: otherArchitecture('/usr/sbin/runc'),
    expected: { reason: 'ProgramNotExecutable', exitCode: 4, proof: /is a program for arm64/ },
  },
  {
    id: 'init-runc-fails',
    role: 'init',
    what: 'runc itself fails',
    before: replaceBy('/usr/sbin/runc', 'echo the kernel is too old for this >&2', 'exit 1'),
    expected: { reason: 'OCIRuntimeCreateFailed', step: 'kubeadm', exitCode: 11, proof: /OCI runtime create failed/ },
  },
  {
    id: 'init-shim-missing',
    role: 'init',
    what: "containerd's shim is not installed",
    before: `rm ${SHIM}`,
    expected: { reason: 'ContainerdRuntimeMissing', exitCode: 4, proof: /containerd-shim-runc-v2/ },
  },
  {
    id: 'init-shim-other-architecture',
    role: 'init',
    what: "containerd's shim is a program for another architecture",
    before: otherArchitecture(SHIM),
    expected: { reason: 'ProgramNotExecutable', exitCode: 4, proof: /is a program for arm64/ },
  },
  {
    id: 'init-pause-unavailable',
    role: 'init',
    what: 'A hook gives containerd a sandbox image that does not exist',
    hook: `sed -i 's|${imageOf('pause')}|registry.invalid/pause:9|' ${CONFIG}; grep -q pause:9 ${CONFIG}; systemctl restart containerd`,
    fixture: 'b06-init-sandbox-image',
    expected: { reason: 'SandboxImageUnavailable', step: 'kubeadm', exitCode: 11, proof: /registry\.invalid\/pause:9/ },
  },
  {
    id: 'init-cgroup-driver-differs',
    role: 'init',
    what: "A hook gives containerd another cgroup driver than the kubelet's",
    hook: `sed -i 's/SystemdCgroup = false/SystemdCgroup = true/' ${CONFIG}; grep -q 'SystemdCgroup = true' ${CONFIG}; systemctl restart containerd`,
    fixture: 'b08-init-systemd-cgroup-runc',
    expected: { reason: 'CgroupDriverMismatch', step: 'kubeadm', exitCode: 11, proof: /cgroupsPath/ },
  },
  {
    id: 'init-image-store-full',
    role: 'init',
    what: "containerd's disk is full while images are imported",
    before: `systemctl stop containerd; ${tmpfs('/var/lib/containerd', 'size=8m')}; systemctl start containerd`,
    expected: { reason: 'DiskFull', step: 'images', exitCode: 10, proof: /no space left on device/ },
  },
  {
    id: 'init-run-full',
    role: 'init',
    what: 'The file system on which containerd keeps its tasks is full',
    before: `${tmpfs('/run/containerd/io.containerd.runtime.v2.task', 'size=4k')}; head -c 4096 /dev/zero > /run/containerd/io.containerd.runtime.v2.task/ballast`,
    expected: { reason: 'DiskFull', step: 'kubeadm', exitCode: 11, proof: /no space left on device/ },
  },
  {
    id: 'init-image-without-program',
    role: 'init',
    what: 'The image named kube-apiserver holds another program',
    hook: `ctr -n k8s.io images tag --force ${imageOf('pause')} ${imageOf('kube-apiserver')}`,
    expected: { reason: 'ContainerCommandNotFound', step: 'kubeadm', exitCode: 11, proof: /executable file not found/ },
  },
  {
    id: 'init-image-other-architecture',
    role: 'init',
    what: "etcd's image is for another architecture",
    before: otherArchitectureInImage('/usr/local/bin/etcd'),
    document: { kubernetes: { timeouts: { controlPlane: '45s' } } },
    expected: { reason: 'ProgramNotExecutable', step: 'kubeadm', exitCode: 11, proof: /exec format error/ },
  },
  {
    id: 'init-archive-damaged',
    role: 'init',
    what: 'An image archive is cut off',
    before: 'head -c 100000 /opt/images/pause.tar > /root/etcd.tar',
    document: { images: { archives: [{ path: '/root/etcd.tar' }] } },
    expected: { reason: 'ImageArchiveUnreadable', step: 'images', exitCode: 10, proof: /\/root\/etcd\.tar/ },
  },
  {
    id: 'init-image-missing',
    role: 'init',
    what: "etcd's image is in no archive",
    before: `ctr -n k8s.io images rm --sync ${imageOf('etcd')}`,
    document: { images: { archives: [{ path: '/opt/images/pause.tar' }] } },
    core: true,
    expected: { reason: 'ImageMissing', step: 'kubeadm-images', exitCode: 10, proof: /etcd:\d+\.\d+\.\d+-0/ },
  },
  {
    id: 'init-image-removed',
    role: 'init',
    what: "etcd's image is missing, and its registry's name does not resolve",
    before: `ctr -n k8s.io images rm --sync ${imageOf('etcd')}`,
    document: { images: { archives: [] }, kubernetes: { node: { imagePullPolicy: 'IfNotPresent' } } },
    fixture: 'a19-init-air-gap',
    expected: { reason: 'ImagePullDNSFailure', step: 'kubeadm', exitCode: 11, proof: /etcd:\d+\.\d+\.\d+-0/ },
  },
  {
    id: 'init-registry-refuses',
    role: 'init',
    what: 'Nothing listens where the image repository is',
    document: {
      kubernetes: { cluster: { imageRepository: '10.99.0.1:5999/k8s' }, node: { imagePullPolicy: 'IfNotPresent' } },
    },
    fixture: 'a15-init-registry-refused',
    expected: { reason: 'ImageRegistryUnreachable', step: 'kubeadm', exitCode: 11, proof: /10\.99\.0\.1:5999/ },
  },
  {
    id: 'init-cgroup-unmounted',
    role: 'init',
    what: 'The cgroup controller cpuset is not mounted',
    before: 'umount /sys/fs/cgroup/cpuset',
    expected: { reason: 'ContainerManagerFailed', exitCode: 4, proof: /cpuset/ },
  },
  {
    id: 'init-pods-out-of-memory',
    role: 'init',
    what: 'All pods together may use 24 MiB of memory',
    during: `${until('test -e /sys/fs/cgroup/memory/kubepods/memory.limit_in_bytes')}; while :; do echo 24M > /sys/fs/cgroup/memory/kubepods/memory.limit_in_bytes || true; sleep 0.2; done`,
    alone: true,
    document: { kubernetes: { timeouts: { controlPlane: '75s' } } },
    expected: { reason: 'OutOfMemory', step: 'kubeadm', exitCode: 11, proof: /OOM|memory/i },
  },
  {
    id: 'init-reserved-cgroup-missing',
    role: 'init',
    what: 'The kubelet is to enforce limits of a cgroup that does not exist',
    document: {
      kubernetes: {
        node: {
          kubelet: {
            config: {
              enforceNodeAllocatable: ['pods', 'system-reserved'],
              systemReservedCgroup: '/no-such-slice',
              systemReserved: { memory: '100Mi' },
            },
          },
        },
      },
    },
    expected: { reason: 'ContainerManagerFailed', exitCode: 4, proof: /no-such-slice/ },
  },
  {
    id: 'init-pods-few-processes',
    role: 'init',
    what: 'A pod may have six threads',
    document: {
      kubernetes: { timeouts: { controlPlane: '40s' }, node: { kubelet: { config: { podPidsLimit: 6 } } } },
    },
    area: 'runc ends without saying why.',
    expected: { reason: 'OCIRuntimeCreateFailed', step: 'kubeadm', exitCode: 11, proof: /OCI runtime create failed/ },
  },
  {
    id: 'init-shims-killed',
    role: 'init',
    what: "containerd's shims are killed whenever they run",
    during: `${MANIFESTS_WRITTEN}; while :; do pkill -9 -f containerd-shim-runc-v2 || true; sleep 0.2; done`,
    document: { kubernetes: { timeouts: { controlPlane: '45s' } } },
    expected: { reason: 'StaticPodCrashLoop', step: 'kubeadm', exitCode: 11, proof: /./ },
  },
];
