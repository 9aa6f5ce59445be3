import type { NoiseEntry } from './entry.ts';

/** Lines that successful runs print as well: whatever else they match, they prove nothing. */
export const NOISE: readonly NoiseEntry[] = [
  {
    id: 'cni-not-ready',
    pattern: /(cni plugin not initialized|cni config uninitialized)/,
    reference: 'kubernetes/kubernetes#61815',
    example:
      'E1120 10:05:11.222 kubelet.go:3117] "Container runtime network not ready" networkReady="NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"',
  },
  {
    id: 'cadvisor-factories',
    // cadvisor tries every container runtime that it knows, also those that are not installed.
    pattern: /(?:Registration of the [\w-]+ container factory failed|Unable to create runtime container handler)/,
    reference: 'google/cadvisor manager/manager.go Start; every kubelet from 1.21 on beside containerd',
    example:
      'I1128 01:15:58.561943     261 factory.go:219] Registration of the crio container factory failed: Get "http://%2Fvar%2Frun%2Fcrio%2Fcrio.sock/info": dial unix /var/run/crio/crio.sock: connect: no such file or directory',
  },
  {
    id: 'kubelet-config-missing',
    pattern: /\/var\/lib\/kubelet\/config\.yaml.{0,1000}no such file or directory/,
    reference: 'kubernetes/kubernetes#65863, #73779',
    example:
      '"command failed" err="failed to load kubelet config file, path: /var/lib/kubelet/config.yaml, error: failed to load Kubelet config file /var/lib/kubelet/config.yaml, error failed to read kubelet config file \\"/var/lib/kubelet/config.yaml\\", error: open /var/lib/kubelet/config.yaml: no such file or directory"',
  },
  {
    id: 'etcd-learner-retry-noise',
    pattern:
      /"msg":"retrying of unary invoker failed".{0,500}can only promote a learner member which is in sync with leader/,
    reference: 'kubernetes/kubeadm#3287',
    example:
      '{"level":"warn","ts":"2026-02-15T22:07:35.784150Z","logger":"etcd-client","caller":"v3@v3.6.4/retry_interceptor.go:65","msg":"retrying of unary invoker failed","target":"etcd-endpoints://0xc000828f00/10.0.0.11:2379","method":"/etcdserverpb.Cluster/MemberPromote","attempt":0,"error":"rpc error: code = FailedPrecondition desc = etcdserver: can only promote a learner member which is in sync with leader"}',
  },
  {
    id: 'kube-proxy-config-forbidden',
    pattern: /Warning: No kubeproxy\.config\.k8s\.io\/\w+ config is loaded\. Continuing without it/,
    reference: 'k/k v1.20 cmd/kubeadm/app/componentconfigs/configset.go FetchFromCluster',
    example:
      'W1120 17:40:11.524986     917 configset.go:77] Warning: No kubeproxy.config.k8s.io/v1alpha1 config is loaded. Continuing without it: configmaps "kube-proxy" is forbidden: User "system:bootstrap:abcdef" cannot get resource "configmaps" in API group "" in the namespace "kube-system"',
  },
  {
    id: 'registry-mirror-skipped',
    // One of several hosts of a registry, such as a mirror. Where the last one fails, containerd logs that the pull failed.
    pattern: /^time="[^"]{1,40}" level=info msg="trying next host"/,
    reference: 'containerd/containerd core/remotes/docker/resolver.go',
    example:
      'time="2026-11-28T08:00:00Z" level=info msg="trying next host" error="failed to do request: Head \\"https://mirror.example/v2/pause/manifests/3.10\\": dial tcp: lookup mirror.example: no such host" host=mirror.example',
  },
  {
    id: 'webhook-failed',
    // What follows is the webhook's trouble: its connection, its certificate. It says nothing of the API server's. Where it
    // is why kubeadm or the kubelet failed, the catalogue names it (`admission-webhook`).
    pattern:
      /^(?!error execution phase |.{0,100}Unable to register node ).*(failed calling webhook|admission webhook \\*"[^"]*" denied the request)/,
    reference: 'k/k staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/errors',
    example:
      'E1120 17:40:11.524986     917 event.go:273] Server rejected event: Internal error occurred: failed calling webhook "deny.example.com": Post "https://127.0.0.1:9/?timeout=10s": dial tcp 127.0.0.1:9: connect: connection refused',
  },
];

/**
 * Errors that kubelet, containerd and the control plane log in successful runs (1.20 and 1.36): beside another error they
 * are not the last word of a process that ended.
 */
export const ORDINARY_ERRORS: readonly RegExp[] = [
  /^E\d{4} [\d:. ]{8,32} (?:reflector|event|nodelease|aws_credentials|oomparser|timeout|file_linux|file|dynamic_cafile_content)\.go:/,
  /ensure lease exists, will retry|requesting a signed certificate from|ailed to (?:get|check) (?:summary stats|if we have separate)/,
  /mirror pod|[Ss]kipping pod synchronization|rlimit on max file handles|Stats initialization may not have completed/,
  /[Cc]ontainer runtime network not ready|Error getting (?:the current )?node|kubelet\.go:\d+\] node "|read data from checkpoint/,
  /process in container with oom score|The manifest file is empty|get the info of the filesystem|retrieving lease lock/,
  /updating (?:existing )?node status|will retry\b|failed to load cni during init|Failed to pipe std|Server rejected event/,
];
