import type { DocumentTree, NodeSite } from '../documents.ts';
import { FIRSTS, type Sabotage } from './sabotage.ts';
import {
  BALANCER,
  balancer,
  CA_EXTENSIONS,
  certificate,
  dropped,
  K,
  killAlways,
  leftoverNode,
  NAME_OF_FIRST,
  NODE_READY,
  serverExtensions,
  until,
  without,
} from './shell.ts';

const PKI = '/etc/kubernetes/pki';

/** Joins by another endpoint, or another token. */
function discovery(token: DocumentTree): DocumentTree {
  return { kubernetes: { join: { discovery: { token } } } };
}

/** A server on the first control plane that is none of Kubernetes. */
function server(command: string): string {
  return `systemd-run --quiet --collect --unit=balancer socat TCP-LISTEN:${BALANCER},reuseaddr,fork ${command}; ${until(`ss -ltn | grep -q :${BALANCER}`)}`;
}

const THROUGH_BALANCER = ({ ip }: NodeSite) => discovery({ endpoint: `${ip}:${BALANCER}` });
const STOP_BALANCER = 'systemctl stop balancer';
const NAMES = FIRSTS.map((ip) => `IP:${ip}`).join();
const SERVER = '/CN=kube-apiserver';
/** The last thing that kubeadm writes before the kubelet asks for its certificate. */
const TLS_BOOTSTRAP = until('test -e /etc/kubernetes/bootstrap-kubelet.conf');

/** A worker that joins. */
export const WORKER: readonly Sabotage[] = [
  {
    id: 'worker-token-unknown',
    role: 'worker',
    what: 'The cluster does not know the token',
    document: { secrets: { joinToken: { value: 'aaaaaa.0123456789abcdef' } } },
    fixture: 'c02-join-token-unknown',
    expected: { reason: 'BootstrapTokenNotFound', step: 'kubeadm', exitCode: 11, proof: /JWS/ },
  },
  {
    id: 'worker-token-expired',
    role: 'worker',
    what: 'The token expired in the cluster',
    cluster: `for name in $(${K} -n kube-system get secret -o name | grep bootstrap-token); do ${K} -n kube-system patch $name -p '{"stringData":{"expiration":"2026-01-01T00:00:00Z"}}'; done; ${until(`! ${K} -n kube-public get cm cluster-info -o yaml | grep -q jws-kubeconfig`)}`,
    expected: { reason: 'BootstrapTokenNotFound', step: 'kubeadm', exitCode: 11, proof: /JWS/ },
  },
  {
    id: 'worker-ca-hash-foreign',
    role: 'worker',
    what: 'The pinned CA is that of another cluster',
    document: discovery({ caCertHashes: [`sha256:${'0'.repeat(64)}`] }),
    fixture: '10-join-wrong-ca-hash',
    expected: { reason: 'CACertHashMismatch', step: 'kubeadm', exitCode: 11, proof: /pinned/ },
  },
  {
    id: 'worker-endpoint-refuses',
    role: 'worker',
    what: 'Nothing listens at the endpoint',
    document: ({ ip }) => discovery({ endpoint: `${ip}:6999` }),
    fixture: 'c04-join-refused',
    expected: { reason: 'APIEndpointConnectionRefused', step: 'kubeadm', exitCode: 11, proof: /6999/ },
  },
  {
    id: 'worker-endpoint-unknown',
    role: 'worker',
    what: 'The name of the endpoint does not resolve',
    document: discovery({ endpoint: 'api.lab.invalid:6443' }),
    fixture: '16-join-endpoint-dns',
    expected: { reason: 'APIEndpointDNSFailure', step: 'kubeadm', exitCode: 11, proof: /api\.lab\.invalid/ },
  },
  {
    id: 'worker-name-server-silent',
    role: 'worker',
    what: 'The name server does not answer',
    before: 'rm /etc/resolv.conf; echo nameserver 10.99.0.250 > /etc/resolv.conf',
    document: discovery({ endpoint: 'api.lab.invalid:6443' }),
    expected: { reason: 'APIEndpointDNSFailure', step: 'kubeadm', exitCode: 11, proof: /api\.lab\.invalid/ },
  },
  {
    id: 'worker-endpoint-elsewhere',
    role: 'worker',
    what: 'The name of the endpoint is an address that no machine has',
    before: 'echo 10.99.0.250 api.lab.test >> /etc/hosts',
    document: discovery({ endpoint: 'api.lab.test:6443' }),
    fixture: '18-join-endpoint-no-route',
    expected: { reason: 'APIEndpointTimeout', step: 'kubeadm', exitCode: 11, proof: /api\.lab\.test/ },
  },
  {
    id: 'worker-filter-drops',
    role: 'worker',
    what: 'A packet filter drops the way to the API server',
    before: dropped('OUTPUT', 6443),
    fixture: 'c06-join-dropped',
    expected: { reason: 'APIEndpointTimeout', step: 'kubeadm', exitCode: 11, proof: /6443/ },
  },
  {
    id: 'worker-filter-prohibits',
    role: 'worker',
    what: 'A packet filter on the first control plane prohibits the way to the API server',
    cluster: 'iptables -I INPUT -i host0 -p tcp --dport 6443 -j REJECT --reject-with icmp-host-prohibited',
    restore: 'iptables -D INPUT -i host0 -p tcp --dport 6443 -j REJECT --reject-with icmp-host-prohibited',
    expected: { reason: 'APIEndpointTimeout', step: 'kubeadm', exitCode: 11, proof: /no route to host|EHOSTUNREACH/ },
  },
  {
    id: 'worker-no-route',
    role: 'worker',
    what: 'The machine has no way to any network',
    before: 'ip address flush dev host0',
    fixture: 'c23-join-unreachable-net',
    expected: { reason: 'APIEndpointTimeout', step: 'kubeadm', exitCode: 11, proof: /unreachable/ },
  },
  {
    id: 'worker-filter-drops-late',
    role: 'worker',
    what: 'A packet filter drops the way to the API server once the kubelet needs it',
    during: `${TLS_BOOTSTRAP}; ${dropped('OUTPUT', 6443)}`,
    document: { kubernetes: { timeouts: { overall: '90s' } } },
    area: 'kubeadm waits five minutes for the certificate of a kubelet; the deadline of the document passes first, with the cause in the evidence.',
    expected: { reason: 'DeadlinePassed', step: 'kubeadm', exitCode: 13, proof: /6443/ },
  },
  {
    id: 'worker-certificate-names',
    role: 'worker',
    what: "The API server's certificate does not name the endpoint",
    cluster: 'ip address add 10.99.0.208/24 dev host0',
    restore: 'ip address del 10.99.0.208/24 dev host0',
    document: discovery({ endpoint: '10.99.0.208:6443' }),
    fixture: 'c24-join-ip-not-in-san',
    expected: { reason: 'APIServerCertSANMismatch', step: 'kubeadm', exitCode: 11, proof: /10\.99\.0\.208/ },
  },
  {
    id: 'worker-certificate-expired',
    role: 'worker',
    what: 'The certificate at the endpoint expired',
    cluster: `${certificate({ name: 'expired', subject: SERVER, to: '20260101000000Z', extensions: serverExtensions(NAMES), ca: `${PKI}/ca` })}\n${balancer('expired')}`,
    restore: STOP_BALANCER,
    document: THROUGH_BALANCER,
    expected: { reason: 'CertificateExpired', step: 'kubeadm', exitCode: 11, proof: /expired/ },
  },
  {
    id: 'worker-certificate-early',
    role: 'worker',
    what: 'The certificate at the endpoint is not valid yet, as where the clock is behind',
    cluster: `${certificate({ name: 'early', subject: SERVER, from: '20400101000000Z', extensions: serverExtensions(NAMES), ca: `${PKI}/ca` })}\n${balancer('early')}`,
    restore: STOP_BALANCER,
    document: THROUGH_BALANCER,
    expected: { reason: 'ClockSkew', step: 'kubeadm', exitCode: 11, proof: /not yet valid|is before/ },
  },
  {
    id: 'worker-certificate-foreign',
    role: 'worker',
    what: 'The certificate at the endpoint is of another CA',
    cluster: [
      certificate({ name: 'foreign-ca', subject: '/CN=kubernetes', extensions: CA_EXTENSIONS }),
      certificate({
        name: 'foreign',
        subject: SERVER,
        extensions: serverExtensions(NAMES),
        ca: '/root/forged/foreign-ca',
      }),
      balancer('foreign'),
    ].join('\n'),
    restore: STOP_BALANCER,
    document: THROUGH_BALANCER,
    expected: { reason: 'APIServerCertUntrusted', step: 'kubeadm', exitCode: 11, proof: /unknown authority/ },
  },
  {
    id: 'worker-balancer-closes',
    role: 'worker',
    what: 'The load balancer has no server behind it and closes connections',
    cluster: server('EXEC:/bin/true'),
    restore: STOP_BALANCER,
    document: THROUGH_BALANCER,
    fixture: 'c25-join-lb-eof',
    expected: { reason: 'APIEndpointLoadBalancerUnhealthy', step: 'kubeadm', exitCode: 11, proof: /7443/ },
  },
  {
    id: 'worker-balancer-silent',
    role: 'worker',
    what: 'Something accepts connections at the endpoint and does not answer',
    cluster: server('EXEC:"/bin/sleep 3600"'),
    restore: STOP_BALANCER,
    document: THROUGH_BALANCER,
    expected: { reason: 'APIEndpointLoadBalancerUnhealthy', step: 'kubeadm', exitCode: 11, proof: /7443/ },
  },
  {
    id: 'worker-api-server-stopped',
    role: 'worker',
    what: "The cluster's API server does not run",
    cluster: `mv /etc/kubernetes/manifests/kube-apiserver.yaml /root/; ${until('! pgrep -x kube-apiserver > /dev/null')}`,
    restore: 'mv /root/kube-apiserver.yaml /etc/kubernetes/manifests/',
    fixture: 'd13-join-apiserver-stopped',
    expected: { reason: 'APIEndpointConnectionRefused', step: 'kubeadm', exitCode: 11, proof: /6443/ },
  },
  {
    id: 'worker-cluster-info-missing',
    role: 'worker',
    what: 'The cluster has no cluster-info',
    ...without('cm', 'cluster-info', 'kube-public'),
    fixture: 'c10-join-clusterinfo-missing',
    expected: { reason: 'ClusterInfoNotFound', step: 'kubeadm', exitCode: 11, proof: /cluster-info/ },
  },
  {
    id: 'worker-kubelet-config-missing',
    role: 'worker',
    what: 'The cluster has no configuration for kubelets',
    // Up to 1.23 its name has the minor version.
    ...without('cm', `$(basename $(${K} -n kube-system get cm -o name | grep kubelet-config))`, 'kube-system'),
    fixture: 'c12-join-kubelet-config-missing',
    expected: { reason: 'KubeletConfigMapMissing', step: 'kubeadm', exitCode: 11, proof: /kubelet-config/ },
  },
  {
    id: 'worker-get-node-forbidden',
    role: 'worker',
    what: 'The cluster does not let a joining machine read Nodes',
    ...without('clusterrolebinding', 'kubeadm:get-nodes'),
    fixture: 'd04-join-node-get-forbidden',
    expected: { reason: 'NodeGetForbidden', step: 'kubeadm', exitCode: 11, proof: /forbidden/ },
  },
  {
    id: 'worker-name-taken',
    role: 'worker',
    what: 'The document gives the machine the name of a node that lives',
    ...NODE_READY,
    ...NAME_OF_FIRST,
    fixture: 'c15-join-node-name-taken',
  },
  {
    id: 'worker-name-taken-not-ready',
    role: 'worker',
    what: 'The document gives the machine the name of a node that lives and is not Ready yet',
    spoils: true,
    ...NAME_OF_FIRST,
  },
  {
    id: 'worker-node-left',
    role: 'worker',
    what: 'A Node of this name is left over from a machine that is gone: no fault',
    cluster: leftoverNode('Unknown'),
    restore: ':',
    expected: 'success',
  },
  {
    id: 'worker-node-left-ready',
    role: 'worker',
    what: 'A Node of this name is left over from a machine that died just now, so that it is Ready still',
    cluster: leftoverNode('True'),
    restore: ':',
    expected: { reason: 'NodeNameConflict', step: 'kubeadm', exitCode: 11, proof: /already exists in the cluster/ },
  },
  {
    id: 'worker-ca-left',
    role: 'worker',
    what: 'The CA of another cluster is on the disk, as in a restored image',
    before: `${certificate({ name: 'ca', subject: '/CN=kubernetes', extensions: CA_EXTENSIONS })}\nmkdir -p ${PKI} && cp ca.crt ${PKI}`,
    fixture: 'c08-join-ca-exists',
    expected: { reason: 'CACertificateExists', exitCode: 4, proof: /ca\.crt/ },
  },
  {
    id: 'worker-kubelet-killed',
    role: 'worker',
    what: 'The kubelet is killed whenever it runs, from its bootstrap kubeconfig on',
    during: `${TLS_BOOTSTRAP}; ${killAlways('kubelet')}`,
    expected: { reason: 'KubeletKilled', step: 'kubeadm', exitCode: 11, proof: /SIGKILL/ },
  },
];
