import type { TopicEntry } from './entry.ts';

/** What the API server refused, and why: nothing that time heals. */
export const REFUSALS: readonly TopicEntry[] = [
  {
    id: 'node-refused',
    source: 'kubelet',
    kind: 'cause',
    reason: 'NodeRefused',
    priority: 112,
    pattern:
      /Unable to register node with API server".{0,10}err="(?:Node|nodes?) (?:\\*"[^"]{1,300}" )?((?:is invalid|is forbidden|.{0,200}denied the request): .{1,400}?)(?:" node=|"?$)/,
    overcomeBy: /Successfully registered node/,
    retryable: false,
    cleanup: 'reset',
    says: 'The API server refuses the Node of this machine: it $1.',
    remedy:
      'Correct what the message names in the document: the name of the node, its labels or its taints (kubernetes.node); or the policy of the cluster that refuses it.',
    reference:
      'k/k pkg/kubelet/kubelet_node_status.go tryRegisterWithAPIServer; apimachinery/pkg/api/errors (1.20 to 1.36)',
    example:
      'E0718 13:36:42.014744     953 kubelet_node_status.go:107] "Unable to register node with API server" err="Node \\"pool-blue\\" is invalid: metadata.labels: Invalid value: \\"pool-blue\\": must be no more than 63 bytes" node="pool-blue"',
  },
  {
    id: 'kubeadm-request-refused',
    source: 'kubeadm',
    only: true,
    kind: 'cause',
    reason: 'APIRequestRefused',
    priority: 83,
    pattern:
      /^(?:error: )?error execution phase \S{1,80}: .{0,600}?(\S{1,100} "[^"]{1,253}" (?:is invalid|is forbidden): .{1,600})/,
    place: 'kubeadm',
    retryable: false,
    cleanup: 'none',
    says: 'The API server refuses a request of kubeadm: $1',
    remedy:
      'Correct what the message names: grant the rights that are missing (`kubeadm init phase bootstrap-token` on a control plane restores those of joining nodes), or the value that is refused.',
    reference: 'apimachinery/pkg/api/errors/errors.go NewForbidden and NewInvalid (1.20 to 1.36)',
    example:
      'error: error execution phase upload-config/kubeadm: unable to create ConfigMap: configmaps "kubeadm-config" is forbidden: exceeded quota: objects, requested: count/configmaps=1, used: count/configmaps=9, limited: count/configmaps=9',
  },
  {
    id: 'localhost-elsewhere',
    source: 'kubeadm',
    only: true,
    kind: 'cause',
    reason: 'LocalhostNotLocal',
    place: 'services',
    priority: 104,
    pattern:
      /"http:\/\/localhost:\d{1,5}\/healthz\S{0,80}": dial tcp:? (?!127\.|\[?::1\]?)(\S{1,80}:\d{1,5}|lookup localhost.{0,80}): /,
    retryable: false,
    cleanup: 'reset',
    says: 'The name localhost does not lead to this machine ($1), so that kubeadm cannot ask the kubelet for its health.',
    remedy: 'Add the line `127.0.0.1 localhost` to /etc/hosts (host.hosts), and check with `getent ahosts localhost`.',
    reference: 'k/k cmd/kubeadm/app/util/apiclient/wait.go (up to 1.32: localhost; from 1.33: healthzBindAddress)',
    example:
      'The HTTP call equal to \'curl -sSL http://localhost:10248/healthz\' failed with error: Get "http://localhost:10248/healthz": dial tcp 203.0.113.44:10248: i/o timeout',
  },
];
