import type { TopicEntry } from './entry.ts';

/** Trust between a joining node and the cluster: bootstrap tokens, CA pins, what the token may read. */
export const DISCOVERY: readonly TopicEntry[] = [
  {
    id: 'disc-jws-missing',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'BootstrapTokenNotFound',
    priority: 115,
    pattern: /could not find a JWS signature in the cluster-info ConfigMap for token ID "?([a-z0-9]{6})"?/,
    retryable: false,
    cleanup: 'none',
    remedy: 'Create a new token with `kubeadm token create` and issue a new document. The old one may have expired.',
    reference: 'k/k cmd/kubeadm/app/discovery/token/token.go; aimldl/envs-and-tools kubeadm_join.md',
    example:
      'error execution phase preflight: couldn\'t validate the identity of the API Server: could not find a JWS signature in the cluster-info ConfigMap for token ID "4yeuuf"',
  },
  {
    id: 'disc-token-expired',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'BootstrapTokenExpired',
    priority: 115,
    pattern: /token id "?([a-z0-9]{6})"? is invalid for this cluster or it has expired/,
    retryable: false,
    cleanup: 'none',
    remedy: 'Create a new token with `kubeadm token create` and issue a new document.',
    reference: 'k/k cmd/kubeadm/app/discovery/token/token.go',
    example:
      'error execution phase preflight: couldn\'t validate the identity of the API Server: token id "abcdef" is invalid for this cluster or it has expired. Use "kubeadm token create" on the control-plane node to create a new valid token',
  },
  {
    id: 'disc-jws-invalid',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'BootstrapTokenSecretMismatch',
    priority: 115,
    pattern: /failed to verify JWS signature of received cluster info object/,
    retryable: false,
    cleanup: 'none',
    remedy:
      'Compare the token with `kubeadm token list` and the endpoint with the intended cluster, then issue a new document.',
    reference: 'k/k cmd/kubeadm/app/discovery/token/token.go',
    example:
      "error execution phase preflight: couldn't validate the identity of the API Server: failed to verify JWS signature of received cluster info object, can't trust this API Server",
  },
  {
    id: 'disc-ca-mismatch',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'CACertHashMismatch',
    priority: 120,
    pattern: /none of the public keys "[^"]+" are pinned/,
    retryable: false,
    cleanup: 'none',
    remedy:
      'Find out first which server answers on the endpoint: the wrong cluster, a rebuilt one, or an attacker in between. Issue a new document only after that.',
    reference: 'k/k util/pubkeypin/pubkeypin.go',
    example:
      'error execution phase preflight: couldn\'t validate the identity of the API Server: cluster CA found in cluster-info ConfigMap is invalid: none of the public keys "sha256:ccf9de2fbb89e5fd4bb83fad6b4a2d1f8b0d0b0c6b3e7b0c4c4c4c4c4c4c4c4c" are pinned',
  },
  {
    id: 'disc-ca-hash-malformed',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'CACertHashMalformed',
    priority: 100,
    pattern:
      /(invalid discovery token CA certificate hash: |unknown hash format "|expected a \d+ byte SHA-256 hash|invalid public key hash, expected "format:value")/,
    retryable: false,
    cleanup: 'none',
    remedy: "Use sha256: and 64 hexadecimal digits, the digest of the CA's public key.",
    reference: 'k/k util/pubkeypin/pubkeypin.go',
    example:
      'error execution phase preflight: couldn\'t validate the identity of the API Server: invalid discovery token CA certificate hash: unknown hash format "md5"',
  },
  {
    id: 'disc-cluster-info-forbidden',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'ClusterInfoForbidden',
    priority: 115,
    pattern:
      /configmaps "cluster-info" is forbidden: User "system:anonymous"|request the cluster-info ConfigMap: Unauthorized/,
    retryable: false,
    cleanup: 'none',
    remedy:
      'Run `kubeadm init phase bootstrap-token` on a control plane; where anonymous access is off, allow it for cluster-info or use file discovery.',
    reference: 'kubernetes/kubeadm#1105; geerlingguy/ansible-role-kubernetes#142',
    example:
      'error execution phase preflight: couldn\'t validate the identity of the API Server: failed to request the cluster-info ConfigMap: configmaps "cluster-info" is forbidden: User "system:anonymous" cannot get resource "configmaps" in API group "" in the namespace "kube-public"',
  },
  {
    id: 'disc-cluster-info-missing',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'ClusterInfoNotFound',
    priority: 114,
    pattern:
      /(configmaps "cluster-info" not found|there is no kubeconfig key in the cluster-info ConfigMap|no kubeconfig key in ConfigMap)/,
    retryable: true,
    cleanup: 'none',
    remedy: 'Wait until `kubeadm init` has finished on the first control plane, then provision again.',
    reference: 'k/k cmd/kubeadm/app/discovery/token/token.go',
    example:
      'error execution phase preflight: couldn\'t validate the identity of the API Server: failed to request the cluster-info ConfigMap: configmaps "cluster-info" not found',
  },
  {
    id: 'disc-token-unauthorized',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'BootstrapTokenUnauthorized',
    priority: 116,
    pattern: /unable to fetch the kubeadm-config ConfigMap: failed to get config map: Unauthorized/,
    retryable: false,
    cleanup: 'none',
    remedy: 'Create a new token with the usage authentication and issue a new document.',
    reference: 'k/k util/config/cluster.go; kubernetes/kubeadm#2491',
    example:
      'error execution phase preflight: unable to fetch the kubeadm-config ConfigMap: failed to get config map: Unauthorized',
  },
  {
    id: 'disc-kubeadm-config-forbidden',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'KubeadmConfigForbidden',
    priority: 115,
    pattern: /configmaps "(kubeadm-config|kubelet-config(-1\.\d+)?)" is forbidden: User "system:bootstrap:/,
    retryable: false,
    cleanup: 'none',
    remedy: 'Run `kubeadm init phase upload-config all` on a control plane, then provision again.',
    reference: 'kubernetes/kubernetes#73779',
    example:
      'error execution phase preflight: unable to fetch the kubeadm-config ConfigMap: failed to get config map: configmaps "kubeadm-config" is forbidden: User "system:bootstrap:abcdef" cannot get resource "configmaps" in API group "" in the namespace "kube-system"',
  },
  {
    id: 'disc-kubeadm-config-missing',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'KubeadmConfigMapMissing',
    priority: 114,
    pattern: /configmaps "kubeadm-config" not found/,
    retryable: true,
    cleanup: 'none',
    remedy: 'Wait until `kubeadm init` has finished; a cluster that kubeadm did not make cannot be joined with it.',
    reference: 'k/k util/config/cluster.go',
    example:
      'error execution phase preflight: unable to fetch the kubeadm-config ConfigMap: failed to get config map: configmaps "kubeadm-config" not found',
  },
  {
    id: 'disc-kubelet-config-missing',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'KubeletConfigMapMissing',
    priority: 114,
    pattern: /configmaps "kubelet-config(-1\.\d+)?" not found/,
    retryable: false,
    cleanup: 'none',
    remedy:
      'Run `kubeadm init phase upload-config kubelet` on a control plane, with the kubeadm version of the cluster.',
    reference: 'k/k componentconfigs',
    example:
      'error execution phase preflight: unable to fetch the kubeadm-config ConfigMap: failed to get component configs: configmaps "kubelet-config" not found',
  },
  {
    id: 'disc-no-cp-endpoint',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'ControlPlaneEndpointMissing',
    priority: 100,
    pattern:
      /unable to add a new control plane instance (to )?a cluster that doesn't have a stable controlPlaneEndpoint address/,
    retryable: false,
    cleanup: 'none',
    remedy:
      "Set controlPlaneEndpoint in the cluster's kubeadm-config ConfigMap; new clusters set kubernetes.cluster.controlPlaneEndpoint before init.",
    reference: 'k/k phases/join/preflight.go',
    example:
      "unable to add a new control plane instance to a cluster that doesn't have a stable controlPlaneEndpoint address",
  },
  {
    id: 'node-get-forbidden',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'NodeGetForbidden',
    priority: 100,
    pattern: /cannot get Node "[^"]+": nodes "[^"]+" is forbidden/,
    retryable: false,
    cleanup: 'none',
    remedy: 'Run `kubeadm init phase bootstrap-token` on a control plane.',
    reference: 'kubernetes/website troubleshooting-kubeadm.md',
    example:
      'error execution phase kubelet-start: cannot get Node "worker-1": nodes "worker-1" is forbidden: User "system:bootstrap:abcdef" cannot get resource "nodes" in API group "" at the cluster scope',
  },
  {
    id: 'csr-unauthorized',
    place: 'apiServer',
    source: 'kubelet',
    kind: 'cause',
    reason: 'BootstrapTokenUnauthorized',
    priority: 120,
    pattern: /cannot create certificate signing request: Unauthorized/,
    // A control plane that joins asks its own API server, too, before that one knows the token.
    overcomeBy: /Successfully registered node/,
    retryable: false,
    cleanup: 'reset',
    remedy: 'Create a new token and provision with a new document.',
    reference: 'kubernetes/kubeadm#809, #792',
    example:
      'E1120 10:03:05.123456   17678 run.go:72] "command failed" err="failed to run Kubelet: cannot create certificate signing request: Unauthorized"',
  },
  {
    id: 'csr-forbidden',
    place: 'apiServer',
    source: 'kubelet',
    kind: 'cause',
    reason: 'CSRForbidden',
    priority: 120,
    pattern: /certificatesigningrequests\.certificates\.k8s\.io is forbidden: User \\*"system:(bootstrap:|anonymous)/,
    overcomeBy: /Successfully registered node/,
    retryable: false,
    cleanup: 'reset',
    remedy: 'Run `kubeadm init phase bootstrap-token` on a control plane, which grants it, then provision again.',
    reference: 'opsnull/follow-me-install-kubernetes-cluster#448',
    example:
      'failed to run Kubelet: cannot create certificate signing request: certificatesigningrequests.certificates.k8s.io is forbidden: User "system:bootstrap:5s9ry0" cannot create resource "certificatesigningrequests" in API group "certificates.k8s.io" at the cluster scope',
  },
];
