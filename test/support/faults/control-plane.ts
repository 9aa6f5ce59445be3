import { ETCD_CALL } from '../etcd-members.ts';
import { FIRSTS, type Sabotage } from './sabotage.ts';
import {
  BALANCER,
  balancer,
  CA_EXTENSIONS,
  certificate,
  K,
  killAlways,
  leftoverNode,
  NAME_OF_FIRST,
  NODE_READY,
  otherArchitectureInImage,
  serverExtensions,
  tmpfs,
  until,
  without,
} from './shell.ts';

const PKI = '/etc/kubernetes/pki';
/** kubeadm has announced the new member, and waits for it. */
const ETCD_MANIFEST = until('test -e /etc/kubernetes/manifests/etcd.yaml');
/** kubeadm has what it needs to ask etcd, and has announced nothing yet. */
const ETCD_CERTIFICATES = until(`test -e ${PKI}/etcd/healthcheck-client.key`);
const PROGRAM = '/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/*/fs/usr/local/bin/etcd';

/** Shell for the first control plane: announces a member with this peer URL, as soon as the cluster takes one. */
function announce(peerUrl: string): string {
  return `${ETCD_CALL}\n${until(`etcd cluster/member/add '{"peerURLs":["'${peerUrl}'"]}' 2> /dev/null`)}`;
}

/** Shell for the first control plane: another member of its etcd, which runs there in a unit of its name. */
function memberBeside(name: string, clientPort: number): string {
  const peer = `https://$FIRST_IP:${clientPort + 1}`;
  const client = `https://$FIRST_IP:${clientPort}`;
  const tls = (kind: string, prefix: string): string =>
    `--${prefix}cert-file=${PKI}/etcd/${kind}.crt --${prefix}key-file=${PKI}/etcd/${kind}.key --${prefix}trusted-ca-file=${PKI}/etcd/ca.crt --${prefix}client-cert-auth`;
  const listed = `$(etcd cluster/member/list '{}' | jq -r --arg own ${peer} '[.members[] | (.name // "${name}") + "=" + .peerURLs[0]] | join(",")')`;
  return [
    announce(peer),
    `systemd-run --quiet --collect --unit=${name} $(ls ${PROGRAM} | head -1) --name=${name} --data-dir=/root/${name} --initial-cluster-state=existing --initial-cluster="${listed}" --listen-peer-urls=${peer} --initial-advertise-peer-urls=${peer} --listen-client-urls=${client} --advertise-client-urls=${client} ${tls('server', '')} ${tls('peer', 'peer-')}`,
    until(`etcd cluster/member/list '{}' | grep -q '"name":"${name}"'`),
  ].join('\n');
}

/** The certificates that control planes share, of other authorities than the cluster's. */
const FOREIGN_PKI = [
  ...['ca', 'front-proxy-ca', 'etcd/ca'].map((name) =>
    [
      certificate({ name: 'foreign', subject: '/CN=kubernetes', extensions: CA_EXTENSIONS }),
      `mkdir -p ${PKI}/etcd && cp foreign.crt ${PKI}/${name}.crt && cp foreign.key ${PKI}/${name}.key`,
    ].join('\n'),
  ),
  `openssl genrsa -out ${PKI}/sa.key 2048 2>/dev/null && openssl rsa -in ${PKI}/sa.key -pubout -out ${PKI}/sa.pub 2>/dev/null`,
].join('\n');

/** A control plane that joins. */
export const CONTROL_PLANE: readonly Sabotage[] = [
  {
    id: 'control-plane-key-wrong',
    role: 'control plane',
    what: 'The certificate key is not the one the certificates were uploaded with',
    document: { secrets: { certificateKey: { value: 'ab'.repeat(32) } } },
    fixture: 'c16-cpjoin-key-wrong',
    expected: {
      reason: 'CertificateKeyMismatch',
      step: 'kubeadm',
      exitCode: 11,
      proof: /message authentication failed/,
    },
  },
  {
    id: 'control-plane-certificates-gone',
    role: 'control plane',
    what: 'The uploaded certificates are gone, as two hours after an init',
    ...without('secret', 'kubeadm-certs', 'kube-system'),
    fixture: 'c17-cpjoin-key-expired',
    expected: { reason: 'CertificateKeySecretExpired', step: 'kubeadm', exitCode: 11, proof: /kubeadm-certs/ },
  },
  {
    id: 'control-plane-name-taken',
    role: 'control plane',
    what: 'The document gives the machine the name of a control plane that lives',
    ...NODE_READY,
    ...NAME_OF_FIRST,
  },
  {
    id: 'control-plane-name-taken-not-ready',
    role: 'control plane',
    what: 'The document gives the machine the name of a control plane that lives and is not Ready yet',
    spoils: true,
    ...NAME_OF_FIRST,
  },
  {
    id: 'control-plane-node-left',
    role: 'control plane',
    what: 'A Node of this name is left over from a machine that is gone: no fault',
    cluster: leftoverNode('Unknown'),
    spoils: true,
    document: { kubernetes: { ready: { timeout: '60s' } } },
    expected: 'success',
  },
  {
    id: 'control-plane-member-left',
    role: 'control plane',
    what: 'etcd has a member with the address of this machine, which never started',
    cluster: [memberBeside('second', 22379), announce('https://$IP:2380')].join('\n'),
    expected: { reason: 'EtcdMemberAlreadyExists', step: 'readiness', exitCode: 12, proof: /local name/ },
  },
  {
    id: 'control-plane-member-dead',
    role: 'control plane',
    what: 'One of three members of etcd is gone with its machine',
    cluster: [memberBeside('second', 22379), memberBeside('third', 32379), 'systemctl stop third'].join('\n'),
    expected: { reason: 'EtcdClusterUnhealthy', step: 'kubeadm', exitCode: 11, proof: /32379/ },
  },
  {
    id: 'control-plane-quorum-lost',
    role: 'control plane',
    what: 'One of two members of etcd is gone, so that the cluster has no quorum',
    cluster: [
      memberBeside('second', 22379),
      'systemctl stop second',
      until(`! ${K} --request-timeout 5s get --raw /readyz > /dev/null 2>&1`),
    ].join('\n'),
    expected: {
      reason: 'EtcdNoLeader',
      step: 'kubeadm',
      exitCode: 11,
      proof: /its etcd does not|etcdserver: request timed out/,
    },
  },
  {
    id: 'control-plane-ca-foreign',
    role: 'control plane',
    what: 'The certificates on the disk are of another cluster, as in a restored image',
    before: FOREIGN_PKI,
    expected: { reason: 'StaleCertificates', exitCode: 4, proof: /ca\.crt/ },
  },
  {
    id: 'control-plane-etcd-disk-small',
    role: 'control plane',
    what: 'The disk of etcd is of 16 MiB',
    before: tmpfs('/var/lib/etcd', 'size=16m'),
    spoils: true,
    expected: { reason: 'DiskFull', exitCode: 4, proof: /no space left on device|\/var\/lib\/etcd/ },
  },
  {
    id: 'control-plane-etcd-data',
    role: 'control plane',
    what: 'The directory of etcd holds data of an earlier cluster',
    before: 'mkdir -p /var/lib/etcd/member/snap; echo data > /var/lib/etcd/member/snap/db',
    expected: { reason: 'EtcdDataDirNotEmpty', exitCode: 4, proof: /\/var\/lib\/etcd/ },
  },
  {
    id: 'control-plane-clock-behind',
    role: 'control plane',
    what: 'The certificate at the endpoint is not valid yet, as where the clock is behind',
    cluster: `${certificate({ name: 'early', subject: '/CN=kube-apiserver', from: '20400101000000Z', extensions: serverExtensions(FIRSTS.map((ip) => `IP:${ip}`).join()), ca: `${PKI}/ca` })}\n${balancer('early')}`,
    restore: 'systemctl stop balancer',
    document: ({ ip }) => ({
      kubernetes: { join: { discovery: { token: { endpoint: `${ip}:${BALANCER}` } } } },
    }),
    expected: { reason: 'ClockSkew', step: 'kubeadm', exitCode: 11, proof: /not yet valid|is before/ },
  },
  ...['2379', '2380', '6443'].map(
    (port): Sabotage => ({
      id: `control-plane-port-${port}-taken`,
      role: 'control plane',
      what: `Another program listens on port ${port}`,
      before: `systemd-run --quiet socat TCP-LISTEN:${port},fork,reuseaddr /dev/null; ${until(`ss -ltn | grep -q :${port}`)}`,
      expected: { reason: 'PortInUse', exitCode: 4, proof: new RegExp(port) },
    }),
  ),
  {
    id: 'control-plane-port-2380-taken-late',
    role: 'control plane',
    what: "Another program takes etcd's port for its peers after kubeadm has checked it",
    during: `${ETCD_CERTIFICATES}; exec socat TCP-LISTEN:2380,fork,reuseaddr /dev/null`,
    spoils: true,
    expected: { reason: 'PortInUse', step: 'kubeadm', exitCode: 11, proof: /2380/ },
  },
  {
    id: 'control-plane-filter-2379',
    role: 'control plane',
    what: 'A packet filter on the first control plane drops what comes for etcd',
    cluster: 'iptables -I INPUT -i host0 -p tcp --dport 2379 -j DROP',
    restore: 'iptables -D INPUT -i host0 -p tcp --dport 2379 -j DROP',
    fixture: 'd01-cpjoin-etcd-2379-blocked',
    expected: { reason: 'EtcdClusterUnhealthy', step: 'kubeadm', exitCode: 11, proof: /check-etcd/ },
  },
  {
    id: 'control-plane-etcd-killed',
    role: 'control plane',
    what: 'etcd is killed whenever it runs',
    during: killAlways('etcd'),
    spoils: true,
    expected: { reason: 'StaticPodCrashLoop', step: 'kubeadm', exitCode: 11, proof: /etcd/ },
  },
  {
    id: 'control-plane-etcd-other-architecture',
    role: 'control plane',
    what: "etcd's image is for another architecture",
    before: otherArchitectureInImage('/usr/local/bin/etcd'),
    spoils: true,
    expected: { reason: 'ProgramNotExecutable', step: 'kubeadm', exitCode: 11, proof: /exec format error/ },
  },
  {
    id: 'control-plane-api-server-killed',
    role: 'control plane',
    what: 'kube-apiserver is killed whenever it runs',
    during: killAlways('kube-apiserver'),
    spoils: true,
    document: { kubernetes: { ready: { timeout: '40s' } } },
    expected: { reason: 'StaticPodCrashLoop', step: 'readiness', exitCode: 12, proof: /kube-apiserver/ },
  },
  {
    id: 'control-plane-kubeadm-killed',
    role: 'control plane',
    what: 'kubeadm is killed right after it announced the new member of etcd',
    during: `${ETCD_MANIFEST}; pkill -9 -x kubeadm`,
    spoils: true,
    expected: { reason: 'BootstrapperKilled', step: 'kubeadm', exitCode: 11, proof: /SIGKILL/ },
  },
];
