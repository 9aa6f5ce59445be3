import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { kubeadmChecks } from '../../../../src/kubernetes/kubeadm/own-checks.ts';
import { loaded } from '../../../support/document.ts';
import { type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';

const there = () => ({});
const PROGRAMS = { crictl: there, conntrack: there, ip: there, iptables: there, nsenter: there };
const FILES = {
  '/proc/sys/net/ipv4/ip_forward': '1\n',
  '/proc/sys/net/bridge/bridge-nf-call-iptables': '1\n',
};
const LISTEN = '0100007F';
const ANY = '00000000';
const tcp = (...sockets: readonly (readonly [address: string, port: number, state?: string])[]): string =>
  [
    'heading',
    ...sockets.map(([address, port, state = '0A']) => `0: ${address}:${port.toString(16)} 00000000:0000 ${state}`),
  ].join('\n');

const INIT = 'kubernetes: {version: v1.29.3, role: InitControlPlane';
const join = (role: string, endpoint = '10.0.0.1:6443') =>
  `secrets: {t: {value: abcdef.0123456789abcdef}, k: {value: ${'ab'.repeat(32)}}}\nkubernetes: {version: v1.29.3, role: ${role}, join: {discovery: {token: {token: {secret: t}, endpoint: "${endpoint}", caCertHashes: ["sha256:${'0'.repeat(64)}"]}}}${role === 'Worker' ? '' : ', controlPlane: {certificateKey: {secret: k}}'}`;

async function found(
  body: string,
  machine: MemoryMachine = {},
  {
    kubeadm = 'v1.29.3',
    provided = [],
    mounted = [],
  }: { kubeadm?: string; provided?: readonly string[]; mounted?: readonly string[] } = {},
) {
  const { model } = await loaded(`${body}}\n`);
  assert.ok(model.kubernetes);
  const host = memoryHost({ programs: PROGRAMS, ...machine, files: { ...FILES, ...machine.files } });
  const asked = {
    kubernetes: model.kubernetes,
    model,
    kubeadm: parseVersion(kubeadm),
    isProvided: (path: string) => provided.includes(path),
    isMounted: (path: string) => mounted.includes(path),
  };
  const obstacles = await kubeadmChecks(host, asked);
  assert.deepEqual(host.log, []);
  return obstacles.map(
    ({ reason, what, broughtBy }) => `${reason}: ${what}${broughtBy === undefined ? '' : ` (${broughtBy})`}`,
  );
}

const ignoring = (...names: readonly string[]) =>
  `, bootstrapper: {kubeadm: {ignorePreflightErrors: [${names.join(', ')}]}}`;

describe('what kubeadm would refuse', () => {
  test('is nothing on a machine that is ready', async () => {
    for (const body of [INIT, join('Worker'), join('JoinControlPlane')]) assert.deepEqual(await found(body), []);
  });

  test('is a port in use, by the role of the machine', async () => {
    const files = { '/proc/net/tcp': tcp([ANY, 6443], [LISTEN, 10250], [ANY, 2380], [ANY, 10259, '01']) };
    const ports = ['10250, which the kubelet', '6443, which kube-apiserver', '2380, which etcd'].map(
      (one) => `PortInUse: port ${one} needs, is in use`,
    );
    assert.deepEqual(await found(INIT, { files }), ports);
    assert.deepEqual(await found(join('Worker'), { files }), ports.slice(0, 1));
    assert.deepEqual(await found(`${INIT}${ignoring('Port-6443', 'port-2380')}`, { files }), ports.slice(0, 1));
    assert.deepEqual(await found(`${INIT}, controlPlane: {apiEndpoint: {bindPort: 7443}}`, { files }), [
      ports[0],
      ports[2],
    ]);
  });

  test('or a port that only etcd itself opens, where the listener is in its way', async () => {
    const taken = ['PortInUse: port 2381, which etcd needs, is in use'];
    for (const address of [LISTEN, ANY])
      assert.deepEqual(await found(INIT, { files: { '/proc/net/tcp': tcp([address, 2381]) } }), taken);
    assert.deepEqual(await found(INIT, { files: { '/proc/net/tcp': tcp(['0A00000A', 2381]) } }), []);
    assert.deepEqual(await found(INIT, { files: { '/proc/net/tcp6': tcp(['0'.repeat(32), 2381]) } }), taken);
  });

  test('or what an earlier cluster left, unless the document brings it', async () => {
    const files = {
      '/etc/kubernetes/manifests/etcd.yaml': '',
      '/etc/kubernetes/bootstrap-kubelet.conf': '',
      '/etc/kubernetes/pki/ca.crt': '',
      '/var/lib/etcd/member/snap': '',
    };
    const [manifest, conf, ca, data] = [
      'StaticPodManifestExists: /etc/kubernetes/manifests/etcd.yaml already exists',
      'BootstrapKubeconfigExists: /etc/kubernetes/bootstrap-kubelet.conf already exists',
      'CACertificateExists: /etc/kubernetes/pki/ca.crt already exists',
      'EtcdDataDirNotEmpty: /var/lib/etcd is not empty: it has member',
    ];
    assert.deepEqual(await found(INIT, { files }), [manifest, data]);
    assert.deepEqual(await found(join('Worker'), { files }), [conf, ca]);
    assert.deepEqual(await found(join('JoinControlPlane'), { files }), [manifest, conf, data]);
    const provided = ['/etc/kubernetes/manifests/etcd.yaml', '/etc/kubernetes/pki/ca.crt'];
    assert.deepEqual(await found(INIT, { files }, { provided, mounted: ['/var/lib/etcd'] }), []);
    const ignored = ignoring('FileAvailable--etc-kubernetes-manifests-etcd.yaml', 'DirAvailable--var-lib-etcd');
    assert.deepEqual(await found(`${INIT}${ignored}`, { files }), []);
    const elsewhere = `${INIT}, controlPlane: {etcd: {local: {dataDirectory: /srv/etcd}}}`;
    assert.deepEqual(await found(elsewhere, { files: { '/srv/etcd/lost+found/x': '' } }), [
      'EtcdDataDirNotEmpty: /srv/etcd is not empty: it has lost+found',
    ]);
  });

  test('or a program that is missing, up to kubeadm 1.30', async () => {
    const { crictl: _crictl, ...programs } = PROGRAMS;
    assert.deepEqual(await found(INIT, { programs }), [
      'MissingExecutable: crictl is not installed, and kubeadm 1.29 needs it',
    ]);
    assert.deepEqual(await found(`${INIT}${ignoring('FileExisting-crictl')}`, { programs }), []);
    assert.deepEqual(await found(INIT, { programs: {} }, { kubeadm: 'v1.31.0' }), []);
  });

  test('or a setting of the kernel that neither the machine nor the document has', async () => {
    const off = { '/proc/sys/net/ipv4/ip_forward': '0\n', '/proc/sys/net/bridge/bridge-nf-call-iptables': '0\n' };
    const both = [
      'IPForwardDisabled: net.ipv4.ip_forward is 0, and kubeadm needs 1',
      'BrNetfilterNotLoaded: net.bridge.bridge-nf-call-iptables is 0, and kubeadm needs 1',
    ];
    assert.deepEqual(await found(INIT, { files: off }), both);
    assert.deepEqual(await found(INIT, { files: off }, { kubeadm: 'v1.30.1' }), both.slice(0, 1));
    const set = 'host: {sysctl: {net.ipv4.ip_forward: "1", net.bridge.bridge-nf-call-iptables: "1"}}\n';
    assert.deepEqual(await found(`${set}${INIT}`, { files: off }), []);
    assert.deepEqual(
      await found(`${INIT}, cluster: {podSubnets: ["fd01::/48"], serviceSubnets: ["fd02::/112"]}`, { files: off }),
      [],
    );
    assert.deepEqual(await found(join('Worker', 'api.example:6443'), { files: off }, { kubeadm: 'v1.30.1' }), []);
    assert.deepEqual(await found(join('Worker'), { files: off }, { kubeadm: 'v1.30.1' }), both.slice(0, 1));
  });

  test('or too small a machine for a control plane', async () => {
    const files = { '/proc/meminfo': 'MemTotal:  1000000 kB\n', '/proc/self/status': 'Cpus_allowed_list:\t3\n' };
    const both = [
      'InsufficientMemory: the machine has 976 MiB of memory, and a control plane needs 1700 MiB',
      'InsufficientCPU: the machine has 1 processor, and a control plane needs 2',
    ];
    assert.deepEqual(await found(INIT, { files }), both);
    assert.deepEqual(await found(join('Worker'), { files }), []);
    assert.deepEqual(await found(`${INIT}${ignoring('all')}`, { files }), []);
    const enough = {
      ...files,
      '/proc/meminfo': 'MemTotal: 8000000 kB\n',
      '/proc/self/status': 'Cpus_allowed_list:\t0,2-3\n',
    };
    assert.deepEqual(await found(INIT, { files: enough }), []);
  });

  test('or a controller of cgroup v2 that the kernel has switched off', async () => {
    const files = { '/sys/fs/cgroup/cgroup.controllers': 'cpu io pids\n' };
    for (const body of [INIT, join('Worker')])
      assert.deepEqual(await found(body, { files }), [
        'RequiredCgroupsMissing: cgroup v2 of this machine does not have cpuset, memory, which kubeadm and the kubelet need',
      ]);
    assert.deepEqual(await found(`${INIT}${ignoring('SystemVerification')}`, { files }), []);
    const all = { '/sys/fs/cgroup/cgroup.controllers': 'cpuset cpu io memory hugetlb pids rdma misc\n' };
    assert.deepEqual(await found(INIT, { files: all }), []);
  });
});
