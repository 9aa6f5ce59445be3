import type { TopicEntry } from './entry.ts';
import { MOVE_AWAY, RESET_OWN } from './guards.ts';

/** The API endpoint while a node joins: names, connections, TLS. */
export const ENDPOINT: readonly TopicEntry[] = [
  {
    id: 'disc-dns',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'APIEndpointDNSFailure',
    priority: 112,
    pattern: /\/(api\/v1|apis\/[a-z0-9.]{1,80}\/v\w{1,10})\/[^\s"\\]{1,200}\\*": dial tcp: lookup \S+( on \S+)?: /,
    retryable: true,
    cleanup: 'none',
    remedy: 'Make the endpoint resolvable on this machine (record, resolver or /etc/hosts), then provision again.',
    reference: 'k/k cmd/kubeadm/app/discovery/token/token.go',
    example:
      'error execution phase preflight: couldn\'t validate the identity of the API Server: failed to request the cluster-info ConfigMap: Get "https://api.prod.example:6443/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s": dial tcp: lookup api.prod.example on 10.0.0.2:53: no such host',
  },
  {
    id: 'disc-refused',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'APIEndpointConnectionRefused',
    priority: 111,
    pattern:
      /(configmaps\/cluster-info|configmaps\/kubeadm-config)\S{0,200}": dial tcp \S+: connect: connection refused/,
    retryable: true,
    cleanup: 'none',
    remedy: 'Wait until the first control plane or its load balancer listens on the endpoint, then provision again.',
    reference: 'kubernetes/kubeadm#2775; grycap/ansible-role-kubernetes#184',
    example:
      'error execution phase preflight: couldn\'t validate the identity of the API Server: failed to request the cluster-info ConfigMap: Get "https://10.0.0.10:6443/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s": dial tcp 10.0.0.10:6443: connect: connection refused',
  },
  {
    id: 'disc-timeout',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'APIEndpointTimeout',
    priority: 110,
    pattern:
      /(configmaps\/cluster-info|configmaps\/kubeadm-config)\S{0,200}": (dial tcp \S+: (i\/o timeout|connect: (no route to host|network is unreachable|connection timed out)))/,
    retryable: true,
    cleanup: 'none',
    remedy:
      'Open the API port in firewalls and security groups, check the route and proxy exclusions, then provision again.',
    reference: 'kubernetes/kubeadm#2740',
    example:
      'error execution phase preflight: couldn\'t validate the identity of the API Server: Get "https://10.0.0.10:6443/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s": dial tcp 10.0.0.10:6443: i/o timeout',
  },
  {
    id: 'disc-no-answer',
    source: 'kubeadm',
    kind: 'generic',
    reason: 'APIEndpointTimeout',
    // Also printed when the name server, etcd or what is behind a load balancer does not answer: the checks of the endpoint
    // are more precise.
    priority: 79,
    pattern:
      /(configmaps\/cluster-info|configmaps\/kubeadm-config)\S{0,200}": (net\/http: (?:request canceled|TLS handshake timeout)|context deadline exceeded)/,
    retryable: true,
    cleanup: 'none',
    remedy:
      'Open the API port in firewalls and security groups, check the route and proxy exclusions, then provision again.',
    reference: 'kubernetes/kubernetes#90345; Go net/http/transport.go',
    example:
      'error execution phase preflight: couldn\'t validate the identity of the API Server: Get "https://10.0.0.10:6443/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s": net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)',
  },
  {
    id: 'disc-not-tls',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'APIEndpointNotTLS',
    priority: 111,
    pattern:
      /(configmaps\/cluster-info|configmaps\/kubeadm-config)\S{0,200}": (http: server gave HTTP response to HTTPS client|tls: first record does not look like a TLS handshake)/,
    retryable: false,
    cleanup: 'none',
    remedy: 'Correct the port of the endpoint, or have the load balancer pass TLS through to the API servers.',
    reference: 'Go crypto/tls RecordHeaderError; net/http/transport.go',
    example:
      'error execution phase preflight: couldn\'t validate the identity of the API Server: Get "https://10.0.0.10:8080/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s": http: server gave HTTP response to HTTPS client',
  },
  {
    id: 'disc-lb-unhealthy',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'APIEndpointLoadBalancerUnhealthy',
    priority: 110,
    pattern:
      /(configmaps\/cluster-info|configmaps\/kubeadm-config)\S{0,200}": (EOF|unexpected EOF|read tcp \S+: read: connection reset by peer|http: server closed idle connection)/,
    retryable: true,
    cleanup: 'none',
    remedy: 'Wait until the load balancer sees a healthy control plane, then provision again.',
    reference: 'kubernetes/kubeadm#2093 (LB blackout)',
    example:
      'error execution phase preflight: couldn\'t validate the identity of the API Server: failed to request the cluster-info ConfigMap: Get "https://10.0.0.10:6443/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s": EOF',
    composed: true,
  },
  {
    id: 'disc-apiserver-unavailable',
    source: 'kubeadm',
    only: true,
    kind: 'cause',
    reason: 'APIServerUnavailable',
    priority: 90,
    pattern:
      /error execution phase .{0,1000}(the server is currently unable to handle the request|an error on the server \("[^"]*"\) has prevented the request from succeeding|apiserver not ready)/,
    retryable: true,
    cleanup: 'none',
    remedy: 'Check etcd and the API server on the control plane, then provision again.',
    reference: 'apimachinery errors.go',
    example:
      "error execution phase preflight: couldn't validate the identity of the API Server: failed to request the cluster-info ConfigMap: the server is currently unable to handle the request (get configmaps cluster-info)",
  },
  {
    id: 'disc-x509-unknown',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'APIServerCertUntrusted',
    priority: 113,
    pattern: /(configmaps\/|\/api\/v1\/|\/apis\/|API Server: ).{0,500}x509: certificate signed by unknown authority/,
    retryable: false,
    cleanup: 'none',
    remedy: 'Let the load balancer pass TLS through, and check that endpoint and CA belong to the same cluster.',
    reference: 'k/k cmd/kubeadm/app/discovery/token/token.go',
    example:
      'error execution phase preflight: couldn\'t validate the identity of the API Server: failed to request the cluster-info ConfigMap: Get "https://10.0.0.10:6443/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s": tls: failed to verify certificate: x509: certificate signed by unknown authority (possibly because of "crypto/rsa: verification error" while trying to verify candidate authority certificate "kubernetes")',
    composed: true,
  },
  {
    id: 'disc-x509-san',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'APIServerCertSANMismatch',
    priority: 100,
    pattern:
      /x509: (certificate is valid for .{0,2000}, not |cannot validate certificate for \S+ because it doesn't contain any IP SANs)/,
    retryable: false,
    cleanup: 'none',
    remedy:
      'Join by a name or address that the certificate has. Or add the endpoint to kubernetes.controlPlane.apiServer.certSANs of the control plane and provision it again: the run makes a new certificate.',
    reference: 'kubernetes/kubernetes#58921',
    example:
      'error execution phase preflight: couldn\'t validate the identity of the API Server: failed to request the cluster-info ConfigMap: Get "https://10.0.0.10:6443/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s": tls: failed to verify certificate: x509: certificate is valid for 10.96.0.1, 10.0.2.15, not 10.0.0.10',
  },
  {
    id: 'disc-clock-before',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'ClockSkew',
    priority: 121,
    pattern: /certificate has expired or is not yet valid: current time (\S+) is before (\S+)/,
    retryable: true,
    cleanup: 'none',
    remedy: 'Synchronise the clock (chrony, systemd-timesyncd), then provision again.',
    reference: 'kubernetes/kubeadm#1988; kubernetes-sigs/kind#2166',
    example:
      'error execution phase preflight: couldn\'t validate the identity of the API Server: failed to request the cluster-info ConfigMap: Get "https://10.0.0.10:6443/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s": tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-01-01T00:00:12Z is before 2026-11-20T10:01:44Z',
  },
  {
    id: 'disc-cert-expired',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'CertificateExpired',
    priority: 119,
    pattern: /certificate has expired or is not yet valid: current time (\S+) is after (\S+)/,
    retryable: false,
    cleanup: 'none',
    remedy: `Check the clocks of both machines. If they are right, look at the certificates there (\`kubeadm certs check-expiration\`) and renew the expired one with \`kubeadm certs renew\`. An expired one on this machine: ${MOVE_AWAY}.`,
    reference: 'Go crypto/x509',
    example:
      'Get "https://10.0.0.10:6443/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s": tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-11-20T10:01:44Z is after 2026-10-01T00:00:00Z',
  },
  {
    id: 'cert-not-yet-valid',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'ClockSkew',
    priority: 121,
    pattern:
      /(the certificate is not valid yet|could not validate bounds for certificate \S+: the certificate is not valid yet)/,
    retryable: true,
    cleanup: 'none',
    remedy: 'Synchronise the clock (chrony, systemd-timesyncd), then provision again.',
    reference: 'kubernetes-sigs/cluster-api-provider-vsphere#503; k/k certs.go CheckCertificatePeriodValidity',
    example:
      'error execution phase certs/ca: failure loading ca certificate: failed to load certificate: the certificate is not valid yet',
  },
  {
    id: 'api-x509-generic',
    place: 'apiServer',
    source: 'kubelet',
    kind: 'cause',
    reason: 'APIServerCertUntrusted',
    priority: 114,
    pattern: /Unable to register node with API server.{0,500}x509: certificate signed by unknown authority/,
    retryable: false,
    cleanup: 'reset',
    remedy: `Correct the document: the endpoint and the CA must be of one cluster. ${RESET_OWN}`,
    reference: 'k/k pkg/kubelet/kubelet_node_status.go',
    example:
      'E1120 10:02:11.000 kubelet_node_status.go:106] "Unable to register node with API server" err="Post \\"https://10.0.0.10:6443/api/v1/nodes\\": tls: failed to verify certificate: x509: certificate signed by unknown authority" node="worker-3"',
    composed: true,
  },
  {
    id: 'proxy-warning',
    source: 'kubeadm',
    kind: 'warning',
    reason: 'APIEndpointUsesProxy',
    priority: 18,
    pattern: /\[WARNING HTTPProxy(CIDR)?\]: /,
    retryable: true,
    cleanup: 'none',
    remedy: 'Exclude the endpoint, node, service and pod networks from the proxy if it is not meant to be used.',
    reference: 'k/k cmd/kubeadm/app/preflight/checks.go HTTPProxyCheck',
    example:
      '\t[WARNING HTTPProxy]: Connection to "https://10.0.0.10" uses proxy "http://10.1.1.1:3128". If that is not intended, adjust your proxy settings',
  },
];
