import type { Sabotage } from './sabotage.ts';
import { CA_EXTENSIONS, certificate, killAlways, serverExtensions, until } from './shell.ts';

const PKI = '/etc/kubernetes/pki';
/** What the document would bring is left out, so that what is on the disk counts. */
const CA_OF_THE_DISK = { kubernetes: { pki: undefined } };
const LOCAL = 'DNS:localhost,IP:127.0.0.1';

/** Certificates, leftovers and components of a first control plane. */
export const INIT_CLUSTER: readonly Sabotage[] = [
  {
    id: 'init-ca-expired',
    role: 'init',
    what: 'A CA on the disk expired',
    before: `${certificate({ name: 'ca', subject: '/CN=kubernetes', to: '20260101000000Z', extensions: CA_EXTENSIONS })}\nmkdir -p ${PKI} && cp ca.crt ca.key ${PKI}`,
    document: CA_OF_THE_DISK,
    fixture: '68-init-ca-expired',
    expected: { reason: 'CertificateExpired', exitCode: 4, proof: /expired/ },
  },
  {
    id: 'init-ca-early',
    role: 'init',
    what: 'A CA on the disk is not valid before 2040: the clock is behind, or the CA is wrong',
    before: `${certificate({ name: 'ca', subject: '/CN=kubernetes', from: '20400101000000Z', extensions: CA_EXTENSIONS })}\nmkdir -p ${PKI} && cp ca.crt ca.key ${PKI}`,
    document: CA_OF_THE_DISK,
    fixture: 'b31-init-ca-notyet',
    expected: { reason: 'ClockSkew', exitCode: 4, proof: /not (yet )?valid/ },
  },
  {
    id: 'init-ca-garbage',
    role: 'init',
    what: 'The CA on the disk is no certificate',
    before: `mkdir -p ${PKI}; echo nothing > ${PKI}/ca.crt; echo nothing > ${PKI}/ca.key`,
    document: CA_OF_THE_DISK,
    expected: { reason: 'CertificateUnreadable', step: 'kubeadm', exitCode: 11, proof: /ca\.crt|valid/ },
  },
  {
    id: 'init-serving-certificate-foreign',
    role: 'init',
    what: "The API server's certificate on the disk is of another CA",
    before: `${certificate({ name: 'apiserver', subject: '/CN=kube-apiserver', extensions: serverExtensions(LOCAL) })}\nmkdir -p ${PKI} && cp apiserver.crt apiserver.key ${PKI}`,
    fixture: '38-init-stale-certs',
    expected: { reason: 'StaleCertificates', exitCode: 4, proof: /apiserver/ },
  },
  {
    id: 'init-serving-certificate-names',
    role: 'init',
    what: "The API server's certificate on the disk is of the right CA and names another machine",
    hook: `${certificate({ name: 'apiserver', subject: '/CN=kube-apiserver', extensions: serverExtensions(LOCAL), ca: `${PKI}/ca` })}\ncp apiserver.crt apiserver.key ${PKI}`,
    document: { kubernetes: { timeouts: { controlPlane: '45s' } } },
    expected: { reason: 'APIServerCertSANMismatch', step: 'kubeadm', exitCode: 11, proof: /certificate is valid for/ },
  },
  {
    id: 'init-serving-certificate-expired',
    role: 'init',
    what: "The API server's certificate on the disk is of the right CA and expired",
    hook: `${certificate({ name: 'apiserver', subject: '/CN=kube-apiserver', to: '20260101000000Z', extensions: serverExtensions(LOCAL), ca: `${PKI}/ca` })}\ncp apiserver.crt apiserver.key ${PKI}`,
    expected: { reason: 'CertificateExpired', step: 'kubeadm', exitCode: 10, proof: /expired/ },
  },
  {
    id: 'init-etcd-ca-foreign',
    role: 'init',
    what: 'The certificates of etcd on the disk are of two CAs',
    before: [
      certificate({ name: 'ca', subject: '/CN=etcd-ca', extensions: CA_EXTENSIONS }),
      certificate({ name: 'server', subject: '/CN=etcd', extensions: serverExtensions(LOCAL) }),
      `mkdir -p ${PKI}/etcd && cp ca.crt ca.key server.crt server.key ${PKI}/etcd`,
    ].join('\n'),
    fixture: 'b29-init-etcd-cert-ca',
    expected: { reason: 'StaleCertificates', exitCode: 4, proof: /etcd/ },
  },
  {
    id: 'init-service-account-key-garbage',
    role: 'init',
    what: 'The key for service accounts on the disk is damaged',
    before: `mkdir -p ${PKI}; echo nothing > ${PKI}/sa.key; echo nothing > ${PKI}/sa.pub`,
    expected: { reason: 'CertificateUnreadable', step: 'kubeadm', exitCode: 11, proof: /sa/ },
  },
  {
    id: 'init-kubeconfig-foreign',
    role: 'init',
    what: 'admin.conf on the disk is of another cluster',
    before: [
      certificate({ name: 'ca', subject: '/CN=kubernetes', extensions: CA_EXTENSIONS }),
      'mkdir -p /etc/kubernetes',
      'kubectl --kubeconfig /etc/kubernetes/admin.conf config set-cluster kubernetes --server https://10.99.0.250:6443 --certificate-authority ca.crt --embed-certs',
      'kubectl --kubeconfig /etc/kubernetes/admin.conf config set-credentials kubernetes-admin --client-certificate ca.crt --client-key ca.key --embed-certs',
      'kubectl --kubeconfig /etc/kubernetes/admin.conf config set-context a --cluster kubernetes --user kubernetes-admin',
      'kubectl --kubeconfig /etc/kubernetes/admin.conf config use-context a',
    ].join('\n'),
    fixture: '74-init-stale-kubeconfig',
    expected: { reason: 'StaleKubeconfig', exitCode: 4, proof: /admin\.conf/ },
  },
  {
    id: 'init-etcd-data',
    role: 'init',
    what: 'The directory of etcd holds data of an earlier cluster',
    before: 'mkdir -p /var/lib/etcd/member/snap; echo data > /var/lib/etcd/member/snap/db',
    fixture: '34-init-etcd-dir',
    expected: { reason: 'EtcdDataDirNotEmpty', exitCode: 4, proof: /\/var\/lib\/etcd/ },
  },
  {
    id: 'init-manifest-left',
    role: 'init',
    what: 'The manifest of an earlier API server is there',
    before: 'mkdir -p /etc/kubernetes/manifests; echo "{}" > /etc/kubernetes/manifests/kube-apiserver.yaml',
    fixture: 'a03-init-manifest-exists',
    expected: { reason: 'StaticPodManifestExists', exitCode: 4, proof: /kube-apiserver\.yaml/ },
  },
  {
    id: 'init-etcd-killed',
    role: 'init',
    what: 'etcd is killed whenever it runs',
    during: killAlways('etcd'),
    document: { kubernetes: { timeouts: { controlPlane: '45s' } } },
    expected: { reason: 'StaticPodCrashLoop', step: 'kubeadm', exitCode: 11, proof: /etcd/ },
  },
  {
    id: 'init-etcd-frozen',
    role: 'init',
    what: 'etcd is stopped (SIGSTOP) as soon as it serves',
    during: `${until('pgrep -x etcd > /dev/null')}; sleep 1; while :; do pkill -STOP -x etcd || true; sleep 0.5; done`,
    document: { kubernetes: { timeouts: { controlPlane: '45s' } } },
    area: 'a process that is stopped looks like one that is slow.',
    expected: { reason: 'ControlPlaneComponentNotHealthy', step: 'kubeadm', exitCode: 11, proof: /./ },
  },
];
