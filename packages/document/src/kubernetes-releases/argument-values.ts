import type { Component } from './flags.ts';

/** What the value of a flag must be, as pflag and the components parse it. */
export type ArgumentKind = 'duration' | 'flag' | 'integer' | 'number' | 'address';

/** A value that is one of some words, or a list of such words with commas between them. */
export interface ArgumentChoice {
  readonly words: readonly string[];
  readonly isList: boolean;
}

const LETTERS: Readonly<Record<string, Component>> = {
  a: 'kube-apiserver',
  c: 'kube-controller-manager',
  s: 'kube-scheduler',
  k: 'kubelet',
};

/**
 * The flags that do not take any text: k/k cmd/COMPONENT/app/options, pkg/kubeapiserver/options, pkg/controlplane/apiserver/
 * options and staging/src/k8s.io/{apiserver,component-base,controller-manager,cloud-provider}, of 1.31.14, 1.32.13, 1.33.13,
 * 1.34.9, 1.35.6 and 1.36.3. No flag changed its kind in these releases. A line: the kind, the first letters of the components
 * (c: kube-controller-manager), then the flags.
 */
const KINDS = `
address acs advertise-address bind-address
address c webhook-bind-address
address k address healthz-bind-address
duration a coordinated-leadership-lease-duration coordinated-leadership-renew-deadline
duration a coordinated-leadership-retry-period event-ttl kubelet-timeout service-account-max-token-expiration
duration acs audit-log-batch-max-wait audit-webhook-batch-initial-backoff audit-webhook-batch-max-wait
duration acs audit-webhook-initial-backoff etcd-compaction-interval etcd-count-metric-poll-period
duration acs etcd-db-metric-poll-interval etcd-healthcheck-timeout etcd-readycheck-timeout livez-grace-period
duration acs request-timeout shutdown-delay-duration shutdown-watch-termination-grace-period
duration acs storage-initialization-timeout
duration acsk authentication-token-webhook-cache-ttl authorization-webhook-cache-authorized-ttl
duration acsk authorization-webhook-cache-unauthorized-ttl log-flush-frequency
duration c attach-detach-reconcile-sync-period cluster-signing-duration controller-shutdown-timeout
duration c controller-start-interval endpoint-updates-batch-period endpointslice-updates-batch-period
duration c horizontal-pod-autoscaler-cpu-initialization-period horizontal-pod-autoscaler-downscale-stabilization
duration c horizontal-pod-autoscaler-initial-readiness-delay horizontal-pod-autoscaler-sync-period
duration c legacy-service-account-token-clean-up-period min-resync-period mirroring-endpointslice-updates-batch-period
duration c namespace-sync-period node-monitor-grace-period node-monitor-period node-startup-grace-period
duration c node-sync-period pvclaimbinder-sync-period resource-quota-sync-period route-reconciliation-period
duration ck node-status-update-frequency
duration cs leader-elect-lease-duration leader-elect-renew-deadline leader-elect-retry-period
duration k cpu-cfs-quota-period cpu-manager-reconcile-period eviction-pressure-transition-period file-check-frequency
duration k http-check-frequency minimum-container-ttl-duration minimum-image-ttl-duration runtime-request-timeout
duration k streaming-connection-idle-timeout sync-frequency volume-stats-agg-period
duration s pod-max-in-unschedulable-pods-duration
flag a aggregator-reject-forwarding-redirect allow-privileged enable-aggregator-routing enable-bootstrap-token-auth
flag a enable-logs-handler service-account-extend-token-expiration service-account-lookup
flag acs audit-log-batch-throttle-enable audit-log-compress audit-log-truncate-enabled
flag acs audit-webhook-batch-throttle-enable audit-webhook-truncate-enabled authentication-skip-lookup
flag acs authentication-tolerate-lookup-failure disable-http2-serving emulation-forward-compatible
flag acs enable-garbage-collector enable-priority-and-fairness encryption-provider-config-automatic-reload
flag acs permit-address-sharing permit-port-sharing profiling runtime-config-emulation-forward-compatible
flag acs send-retry-after-while-not-ready-once shutdown-send-retry-after watch-cache
flag acsk contention-profiling log-json-split-stream log-text-split-stream
flag ak anonymous-auth
flag c allocate-node-cidrs allow-untagged-cloud configure-cloud-routes disable-attach-detach-reconcile-sync
flag c disable-force-detach-on-timeout enable-dynamic-provisioning enable-hostpath-provisioner enable-leader-migration
flag c use-service-account-credentials webhook-disable-http2-serving
flag cs leader-elect
flag k authentication-token-webhook cgroups-per-qos cpu-cfs-quota enable-controller-attach-detach
flag k enable-debugging-handlers enable-server exit-on-lock-contention experimental-allocatable-ignore-eviction
flag k fail-cgroupv1 fail-swap-on kernel-memcg-notification local-storage-capacity-isolation make-iptables-util-chains
flag k protect-kernel-defaults register-node register-schedulable rotate-certificates rotate-server-certificates runonce
flag k seccomp-default serialize-image-pulls windows-service
integer a apiserver-count kubelet-port kubelet-read-only-port kubernetes-service-node-port max-connection-bytes-per-sec
integer acs audit-log-batch-buffer-size audit-log-batch-max-size audit-log-batch-throttle-burst audit-log-maxage
integer acs audit-log-maxbackup audit-log-maxsize audit-log-truncate-max-batch-size audit-log-truncate-max-event-size
integer acs audit-webhook-batch-buffer-size audit-webhook-batch-max-size audit-webhook-batch-throttle-burst
integer acs audit-webhook-truncate-max-batch-size audit-webhook-truncate-max-event-size default-watch-cache-size
integer acs delete-collection-workers http2-max-streams-per-connection lease-reuse-duration-seconds
integer acs max-mutating-requests-inflight max-requests-inflight min-request-timeout secure-port
integer acsk v
integer c concurrent-cron-job-syncs concurrent-daemonset-syncs concurrent-deployment-syncs
integer c concurrent-device-taint-eviction-syncs concurrent-endpoint-syncs concurrent-ephemeralvolume-syncs
integer c concurrent-gc-syncs concurrent-horizontal-pod-autoscaler-syncs concurrent-job-syncs concurrent-namespace-syncs
integer c concurrent-node-status-updates concurrent-node-syncs concurrent-replicaset-syncs
integer c concurrent-resource-quota-syncs concurrent-resourceclaim-syncs concurrent-service-endpoint-syncs
integer c concurrent-service-syncs concurrent-serviceaccount-token-syncs concurrent-statefulset-syncs
integer c concurrent-ttl-after-finished-syncs concurrent-validating-admission-policy-status-syncs concurrent_rc_syncs
integer c large-cluster-size-threshold max-endpoints-per-slice mirroring-concurrent-service-endpoint-syncs
integer c mirroring-max-endpoints-per-subset node-cidr-mask-size node-cidr-mask-size-ipv4 node-cidr-mask-size-ipv6
integer c pv-recycler-increment-timeout-nfs pv-recycler-minimum-timeout-hostpath pv-recycler-minimum-timeout-nfs
integer c pv-recycler-timeout-increment-hostpath terminated-pod-gc-threshold webhook-secure-port
integer csk kube-api-burst
integer k container-log-max-files event-burst event-qps eviction-max-pod-grace-period healthz-port
integer k image-gc-high-threshold image-gc-low-threshold kube-api-qps max-open-files max-pods maximum-dead-containers
integer k maximum-dead-containers-per-container node-status-max-images oom-score-adj pod-max-pids pods-per-core port
integer k read-only-port registry-burst registry-qps
number acs audit-log-batch-throttle-qps audit-webhook-batch-throttle-qps goaway-chance
number c horizontal-pod-autoscaler-tolerance node-eviction-rate secondary-node-eviction-rate unhealthy-zone-threshold
number cs kube-api-qps
`;

/**
 * The flags that take words: the validation of the same sources, and crypto/tls of Go for cipher suites. A line: `one` or
 * `list`, the components, the flags with `,` between them, then the words. An empty value is the default.
 */
const CHOICES = `
one a audit-log-format legacy json
one a audit-log-mode,audit-webhook-mode batch blocking blocking-strict
one a endpoint-reconciler-type master-count lease none
one a storage-backend etcd3
one acsk tls-min-version VersionTLS10 VersionTLS11 VersionTLS12 VersionTLS13
one c webhook-tls-min-version VersionTLS10 VersionTLS11 VersionTLS12 VersionTLS13
one acsk logging-format text json
one k authorization-mode AlwaysAllow Webhook
one k cgroup-driver cgroupfs systemd
one k hairpin-mode promiscuous-bridge hairpin-veth none
one k topology-manager-policy none best-effort restricted single-numa-node
one k topology-manager-scope container pod
one k cpu-manager-policy none static
one k memory-manager-policy None Static
list a authorization-mode AlwaysAllow AlwaysDeny ABAC Webhook RBAC Node
list acsk tls-cipher-suites $ciphers
list c webhook-tls-cipher-suites $ciphers
`;

/** Of every Go from 1.15 on, without `TLS_`; the last two are older names that Kubernetes adds. */
const CIPHER_SUITES = `
AES_128_GCM_SHA256 AES_256_GCM_SHA384 CHACHA20_POLY1305_SHA256 ECDHE_ECDSA_WITH_AES_128_CBC_SHA
ECDHE_ECDSA_WITH_AES_128_CBC_SHA256 ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 ECDHE_ECDSA_WITH_AES_256_CBC_SHA
ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 ECDHE_ECDSA_WITH_RC4_128_SHA
ECDHE_RSA_WITH_3DES_EDE_CBC_SHA ECDHE_RSA_WITH_AES_128_CBC_SHA ECDHE_RSA_WITH_AES_128_CBC_SHA256
ECDHE_RSA_WITH_AES_128_GCM_SHA256 ECDHE_RSA_WITH_AES_256_CBC_SHA ECDHE_RSA_WITH_AES_256_GCM_SHA384
ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 ECDHE_RSA_WITH_RC4_128_SHA RSA_WITH_3DES_EDE_CBC_SHA RSA_WITH_AES_128_CBC_SHA
RSA_WITH_AES_128_CBC_SHA256 RSA_WITH_AES_128_GCM_SHA256 RSA_WITH_AES_256_CBC_SHA RSA_WITH_AES_256_GCM_SHA384
RSA_WITH_RC4_128_SHA ECDHE_RSA_WITH_CHACHA20_POLY1305 ECDHE_ECDSA_WITH_CHACHA20_POLY1305
`;

/** The names of TLS cipher suites that the components know. */
export function cipherSuites(): readonly string[] {
  return CIPHER_SUITES.trim()
    .split(/\s+/)
    .map((name) => `TLS_${name}`);
}

/** What the flags of a component must be, by flag. */
export function argumentKinds(component: Component): ReadonlyMap<string, ArgumentKind> {
  const kinds = new Map<string, ArgumentKind>();
  for (const line of KINDS.trim().split('\n')) {
    const [kind = '', letters = '', ...flags] = line.split(' ');
    if (!isKind(kind) || ![...letters].some((letter) => LETTERS[letter] === component)) continue;
    for (const flag of flags) kinds.set(flag, kind);
  }
  return kinds;
}

function isKind(text: string): text is ArgumentKind {
  return ['duration', 'flag', 'integer', 'number', 'address'].includes(text);
}

/** The words that flags of a component take, by flag. */
export function argumentChoices(component: Component): ReadonlyMap<string, ArgumentChoice> {
  const choices = new Map<string, ArgumentChoice>();
  for (const line of CHOICES.trim().split('\n')) {
    const [form, letters = '', flags = '', ...words] = line.split(' ');
    if (![...letters].some((letter) => LETTERS[letter] === component)) continue;
    const known = words[0] === '$ciphers' ? cipherSuites() : words;
    for (const flag of flags.split(',')) choices.set(flag, { words: known, isList: form === 'list' });
  }
  return choices;
}
