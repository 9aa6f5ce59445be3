import type { TopicEntry } from './entry.ts';

/** The Node object of this machine and the names and addresses it is known by. */
export const NODE: readonly TopicEntry[] = [
  {
    id: 'node-name-conflict',
    place: 'kubeadm',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'NodeNameConflict',
    priority: 118,
    pattern: /a Node with name "([^"]+)" and status "Ready" already exists in the cluster/,
    retryable: false,
    cleanup: 'reset',
    remedy:
      'Find out whose Node it is: `kubectl get node NAME -o wide`. If another machine has the address there, give this machine another name. Only if its machine is gone permanently, run `kubectl delete node NAME`; then provision again.',
    reference: 'k/k phases/join/kubelet.go',
    example:
      'error execution phase kubelet-start: a Node with name "worker-1" and status "Ready" already exists in the cluster. You must delete the existing Node or change the name of this new joining Node',
  },
  {
    id: 'tls-bootstrap-timeout',
    place: 'kubeadm',
    source: 'kubeadm',
    kind: 'generic',
    reason: 'TLSBootstrapTimeout',
    priority: 52,
    pattern:
      /error execution phase (kubelet-wait-bootstrap|kubelet-start): (context deadline exceeded|timed out waiting for the condition)/,
    // Only where the kubelet itself lives and waits for its certificate: a dead one has a cause of its own.
    confirmedBy: [{ source: 'kubelet', pattern: /Client rotation is on, will bootstrap in background/ }],
    retryable: true,
    cleanup: 'reset',
    remedy:
      'Check on a control plane whether the request of this node was approved (`kubectl get csr`), and read `journalctl -u kubelet`.',
    reference: 'k/k phases/join/kubelet.go waitForTLSBootstrappedClient; kubernetes/kubeadm#1034',
    example: 'error: error execution phase kubelet-wait-bootstrap: context deadline exceeded',
  },
  {
    id: 'tls-bootstrap-timeout-alone',
    place: 'kubeadm',
    source: 'kubeadm',
    kind: 'symptom',
    reason: 'TLSBootstrapTimeout',
    priority: 35,
    pattern:
      /error execution phase (kubelet-wait-bootstrap|kubelet-start): (context deadline exceeded|timed out waiting for the condition)/,
    retryable: true,
    cleanup: 'reset',
    remedy:
      'Check on a control plane whether the request of this node was approved (`kubectl get csr`), and read `journalctl -u kubelet`.',
    reference: 'k/k phases/join/kubelet.go waitForTLSBootstrappedClient; kubernetes/kubeadm#1034',
    example: 'error: error execution phase kubelet-wait-bootstrap: context deadline exceeded',
  },
  {
    id: 'node-annotate-timeout',
    place: 'kubeadm',
    source: 'kubeadm',
    kind: 'generic',
    reason: 'NodeRegistrationTimeout',
    priority: 51,
    pattern:
      /(error uploading crisocket|error writing CRISocket for this node|Error writing Crisocket information|error execution phase (?:control-plane-join\/)?mark-control-plane\S*: timed out waiting)/,
    retryable: true,
    cleanup: 'reset',
    remedy: 'Read `journalctl -u kubelet`: it could not register this Node.',
    reference: 'kubernetes/kubernetes#106704',
    example: 'error execution phase kubelet-start: error writing CRISocket for this node: nodes "worker-1" not found',
  },
  {
    id: 'kubelet-works-unreached',
    source: 'kubeadm',
    only: true,
    place: 'network',
    kind: 'cause',
    reason: 'KubeletNotHealthy',
    priority: 81,
    pattern: /\[kubelet-check\] The kubelet is not healthy after /,
    confirmedBy: [{ source: 'kubelet', pattern: /Successfully registered node/ }],
    retryable: false,
    cleanup: 'reset',
    says: 'The kubelet works, but kubeadm does not reach its health endpoint.',
    remedy:
      'Look for a packet filter on the loopback interface (`nft list ruleset`, `iptables -S`), and at healthzBindAddress and healthzPort of the kubelet: `curl -sS http://127.0.0.1:10248/healthz`.',
    reference: 'k/k util/apiclient/wait.go WaitForKubelet (1.30 to 1.36)',
    example: '[kubelet-check] The kubelet is not healthy after 4m0.000751466s',
  },
  {
    id: 'own-api-server-timeout',
    source: 'kubelet',
    only: true,
    place: 'network',
    kind: 'cause',
    reason: 'APIServerPortBlocked',
    priority: 82,
    pattern:
      /(?:Unable to register node with API server|requesting a signed certificate|Failed to ensure lease exists).{0,400}dial tcp (\S{1,80}:\d{1,5}): (?:i\/o timeout|connect: (?:connection timed out|no route to host))/,
    confirmedBy: [{ source: 'container', pattern: /Serving securely on (?!127\.)\S{1,80}:(?!1025[79]\b)\d+/ }],
    overcomeBy: /Successfully registered node/,
    retryable: false,
    cleanup: 'reset',
    says: 'The API server of this machine serves, but the kubelet does not reach it at $1.',
    remedy:
      'Look for a packet filter that drops connections to $1 (`nft list ruleset`, `iptables -S`), and at the route to it (`ip route get`).',
    reference: 'Go net.OpError; k/k pkg/kubelet/kubelet_node_status.go',
    example:
      'E1128 01:21:55.453663     263 kubelet_node_status.go:111] "Unable to register node with API server" err="Post \\"https://10.136.0.202:6443/api/v1/nodes\\": dial tcp 10.136.0.202:6443: i/o timeout" node="cp-1"',
  },
  {
    id: 'admission-webhook',
    place: 'apiServer',
    source: 'kubelet',
    kind: 'cause',
    reason: 'AdmissionWebhookFailed',
    // The text after the webhook's name is about the webhook, whatever else it looks like.
    priority: 131,
    pattern:
      /^(error execution phase .{1,400}|.{0,100}Unable to register node .{1,200})(failed (calling|to call) webhook|admission webhook \\*"[^"\\]{1,200}\\*" denied the request)/,
    retryable: true,
    cleanup: 'none',
    remedy:
      'Look at the webhook that the evidence names (`kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations`), and repair its server or its rules.',
    reference:
      'k/k staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/errors; pkg/kubelet/kubelet_node_status.go',
    example:
      'error execution phase upload-config/kubeadm: error uploading the kubeadm ClusterConfiguration: Internal error occurred: failed calling webhook "deny.example.com": Post "https://127.0.0.1:9/?timeout=10s": dial tcp 127.0.0.1:9: connect: connection refused',
  },
  {
    id: 'node-identity-mismatch',
    source: 'kubelet',
    kind: 'cause',
    reason: 'NodeIdentityMismatch',
    priority: 118,
    pattern: /is forbidden: node \\*"?[^"\\\s]+\\*"? (is not allowed to|cannot) modify node /,
    retryable: false,
    cleanup: 'reset',
    remedy: 'Set kubernetes.node.name to the name that the kubelet uses (lower case; some clouds set their own).',
    reference: 'k/k noderestriction admission.go; slawekzachcial#4',
    example:
      '"Unable to register node with API server" err="nodes \\"ip-10-240-0-21\\" is forbidden: node \\"worker-1\\" is not allowed to modify node \\"ip-10-240-0-21\\"" node="ip-10-240-0-21"',
  },
  {
    id: 'node-ip-missing',
    source: 'kubelet',
    kind: 'cause',
    reason: 'NodeIPNotFound',
    priority: 110,
    pattern: /node IP: \\*["]?[0-9a-fA-F.:]+\\*["]? not found in the host's network interfaces/,
    retryable: false,
    cleanup: 'none',
    remedy: 'Correct node-ip in kubernetes.node.kubelet.args, or wait for the address before provisioning.',
    reference: 'k/k pkg/kubelet/nodestatus/setters.go',
    example:
      '"Failed to set some node status fields" err="failed to validate nodeIP: node IP: \\"10.0.0.5\\" not found in the host\'s network interfaces" node="worker-1"',
  },
  {
    id: 'disk-pressure',
    place: 'filesystem',
    circumstantial: true,
    source: 'kubelet',
    kind: 'cause',
    reason: 'NodeDiskPressure',
    priority: 115,
    pattern:
      /[Ee]viction manager: attempting to reclaim\W+(resourceName=)?"?(ephemeral-storage|imagefs|nodefs|inodes|containerfs)|nodeCondition=\["DiskPressure"\]|node has conditions: \[DiskPressure\]/,
    retryable: false,
    cleanup: 'reset',
    remedy: 'Give the machine a larger disk, or free space, then provision again.',
    reference: 'kubernetes-sigs/kubespray#3049; kubernetes/minikube#7073',
    example:
      'I1120 10:04:00.123456    1789 eviction_manager.go:366] "Eviction manager: attempting to reclaim" resourceName="ephemeral-storage"',
  },
  {
    id: 'memory-pressure',
    place: 'kernel',
    circumstantial: true,
    source: 'kubelet',
    kind: 'cause',
    reason: 'NodeMemoryPressure',
    priority: 112,
    pattern: /[Ee]viction manager: attempting to reclaim\W+(resourceName=)?"?memory/,
    retryable: false,
    cleanup: 'reset',
    remedy: 'Give the machine more memory, then provision again.',
    reference: 'k/k pkg/kubelet/eviction',
    example: '"Eviction manager: attempting to reclaim" resourceName="memory"',
  },
];
