import type { TopicEntry } from './entry.ts';
import { RESTART_CONTAINERD } from './guards.ts';

/** Why an image could not be pulled, by kubeadm or by the kubelet. */
export const IMAGES: readonly TopicEntry[] = [
  {
    id: 'image-dns',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'ImagePullDNSFailure',
    priority: 112,
    pattern: /\/(manifests|blobs)\/[^\s"\\]{1,128}\\*": dial tcp: lookup \S+( on \S+)?: /,
    retryable: true,
    cleanup: 'none',
    remedy: "Repair the machine's resolver, or preload the images with images.archives; then provision again.",
    reference: 'kubernetes/kubernetes#123901',
    example:
      '\t[ERROR ImagePull]: failed to pull image registry.k8s.io/kube-apiserver:v1.35.2: failed to pull and unpack image "registry.k8s.io/kube-apiserver:v1.35.2": failed to resolve reference "registry.k8s.io/kube-apiserver:v1.35.2": failed to do request: Head "https://registry.k8s.io/v2/kube-apiserver/manifests/v1.35.2": dial tcp: lookup registry.k8s.io on [::1]:53: read udp [::1]:46078->[::1]:53: read: connection refused',
  },
  {
    id: 'image-unreachable',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'ImageRegistryUnreachable',
    priority: 111,
    pattern:
      /\/(manifests|blobs)\/[^\s"\\]{1,128}\\*": dial tcp [\d[][^\s"]{1,60}: (connect: )?(connection timed out|connection refused|i\/o timeout|no route to host|network is unreachable)/,
    retryable: true,
    cleanup: 'none',
    remedy:
      'Open the connection to the registry, configure the proxy of containerd, or preload the images with images.archives; then provision again.',
    reference: 'kubernetes/kubeadm#2936',
    example:
      'failed to do request: Head "https://registry.k8s.io/v2/kube-proxy/manifests/v1.28.2": dial tcp 34.96.108.209:443: connect: connection timed out',
  },
  {
    id: 'image-x509',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'ImageRegistryTLSUntrusted',
    priority: 113,
    pattern: /\/(manifests|blobs)\/[^\s"\\]{1,128}\\*": (tls: failed to verify certificate: )?x509: /,
    retryable: false,
    cleanup: 'none',
    remedy: `Add the registry's CA to containerd (certs.d/<host>/hosts.toml), or to the system's trust store and ${RESTART_CONTAINERD}.`,
    reference: 'containerd remotes/docker/resolver.go "failed to do request"',
    example:
      'failed to resolve reference "registry.corp.example/k8s/pause:3.10": failed to do request: Head "https://registry.corp.example/v2/k8s/pause/manifests/3.10": tls: failed to verify certificate: x509: certificate signed by unknown authority',
  },
  {
    id: 'image-429',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'ImagePullRateLimited',
    priority: 114,
    pattern: /(429 Too Many Requests|toomanyrequests: )/,
    retryable: true,
    cleanup: 'none',
    remedy: 'Provision again later, give the runtime credentials, or use a mirror.',
    reference: 'containerd remotes/errors/errors.go ErrUnexpectedStatus',
    example:
      'failed to resolve reference "docker.io/library/busybox:1.36": unexpected status from HEAD request to https://registry-1.docker.io/v2/library/busybox/manifests/1.36: 429 Too Many Requests',
  },
  {
    id: 'image-unauthorized',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'ImagePullUnauthorized',
    priority: 112,
    pattern:
      /(pull access denied, repository does not exist|unexpected status from \w+ request to \S+: (401|403) |failed to authorize: |failed with status code \[[^\]]{1,200}\]: 40[13] )/,
    retryable: false,
    cleanup: 'none',
    remedy: 'Give containerd credentials for the registry, or correct kubernetes.cluster.imageRepository.',
    reference: 'containerd remotes/docker/resolver.go ErrInvalidAuthorization',
    example:
      'failed to resolve reference "registry.corp.example/k8s/kube-apiserver:v1.35.2": pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed',
  },
  {
    id: 'image-not-found',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'ImageNotFound',
    priority: 112,
    pattern: /failed to resolve reference \\*"[^"\\]+\\*": \S+: not found/,
    retryable: false,
    cleanup: 'none',
    remedy: 'Mirror the image with this tag, or correct kubernetes.version or kubernetes.cluster.imageRepository.',
    reference: 'containerd pull.go + resolver.go ErrNotFound',
    example:
      '\t[ERROR ImagePull]: failed to pull image registry.corp.example/k8s/kube-apiserver:v1.35.9: failed to pull and unpack image "registry.corp.example/k8s/kube-apiserver:v1.35.9": failed to resolve reference "registry.corp.example/k8s/kube-apiserver:v1.35.9": registry.corp.example/k8s/kube-apiserver:v1.35.9: not found',
  },
  {
    id: 'image-http-https',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'ImageRegistryPlainHTTP',
    priority: 112,
    pattern:
      /\/(manifests|blobs)\/[^\s"\\]{1,128}\\*": (http: server gave HTTP response to HTTPS client|tls: first record does not look like a TLS handshake)/,
    retryable: false,
    cleanup: 'none',
    remedy: "Declare the registry with http:// in containerd's hosts.toml, or put TLS in front of it.",
    reference: 'Go net/http; containerd hosts.toml',
    example:
      'failed to do request: Head "https://10.0.0.9:5000/v2/pause/manifests/3.10": http: server gave HTTP response to HTTPS client',
    composed: true,
  },
  {
    id: 'image-platform',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'ImagePlatformMismatch',
    priority: 112,
    pattern: /no match for platform in manifest/,
    retryable: false,
    cleanup: 'none',
    remedy: 'Mirror the multi-platform image instead of the image for another architecture.',
    reference: 'containerd images/handlers',
    example:
      'failed to pull and unpack image "registry.corp.example/k8s/pause:3.10": no match for platform in manifest: not found',
  },
  {
    id: 'proxyconnect',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'ProxyConnectFailed',
    priority: 116,
    pattern: /(proxyconnect tcp: |Proxy Authentication Required)/,
    retryable: true,
    cleanup: 'none',
    remedy:
      'Correct the address and credentials of the proxy, and exclude the API endpoint, service and pod networks from it.',
    reference: 'Go net/http transport',
    example:
      'failed to do request: Head "https://registry.k8s.io/v2/pause/manifests/3.10": proxyconnect tcp: dial tcp 10.1.1.1:3128: connect: connection refused',
    composed: true,
  },
  {
    id: 'image-generic',
    source: 'kubeadm',
    kind: 'generic',
    reason: 'ImagePullFailed',
    priority: 50,
    pattern: /(\[ERROR ImagePull\]: failed to pull image |failed to pull image \\*"?\S+)/,
    retryable: true,
    cleanup: 'none',
    remedy:
      "Read the runtime's message in the evidence, and try `kubeadm config images pull`; preloading with images.archives avoids the pull.",
    reference: 'k/k util/runtime/runtime.go PullImage; constants.PullImageRetry=5',
    example:
      '\t[ERROR ImagePull]: failed to pull image registry.k8s.io/etcd:3.6.6-0: rpc error: code = Unknown desc = context canceled',
  },
];
