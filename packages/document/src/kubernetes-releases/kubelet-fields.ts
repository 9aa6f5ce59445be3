import { cipherSuites } from './argument-values.ts';
import { OLDEST_MINOR } from './minor.ts';

/** What a field of the kubelet's configuration takes. */
export type FieldKind =
  | { readonly is: 'text' | 'flag' | 'integer' | 'duration' | 'anything' }
  | { readonly is: 'list' | 'map'; readonly of: FieldKind }
  | { readonly is: 'object'; readonly type: string };

export interface KubeletField {
  /** The first minor that has it. */
  readonly since: number;
  readonly kind: FieldKind;
}

/**
 * KubeletConfiguration v1beta1 and the objects in it: k/k staging/src/k8s.io/kubelet/config/v1beta1/types.go, with logging and
 * tracing of component-base, of 1.31.14, 1.32.13, 1.33.13, 1.34.9, 1.35.6 and 1.36.3. None of these releases removed a field.
 * A line: the type, the first minor (31: that or earlier), then the fields with what they take: s text, b true or false, i a
 * whole number, d a duration, a anything, l and m a list and a map of what follows, o an object of the type that follows.
 */
const TABLE = `
KubeletConfiguration 31 address:s allowedUnsafeSysctls:ls authentication:oKubeletAuthentication
KubeletConfiguration 31 authorization:oKubeletAuthorization cgroupDriver:s cgroupRoot:s cgroupsPerQOS:b clusterDNS:ls
KubeletConfiguration 31 clusterDomain:s configMapAndSecretChangeDetectionStrategy:s containerLogMaxFiles:i
KubeletConfiguration 31 containerLogMaxSize:s containerLogMaxWorkers:i containerLogMonitorInterval:d
KubeletConfiguration 31 containerRuntimeEndpoint:s contentType:s cpuCFSQuota:b cpuCFSQuotaPeriod:d cpuManagerPolicy:s
KubeletConfiguration 31 cpuManagerPolicyOptions:ms cpuManagerReconcilePeriod:d enableContentionProfiling:b
KubeletConfiguration 31 enableControllerAttachDetach:b enableDebugFlagsHandler:b enableDebuggingHandlers:b
KubeletConfiguration 31 enableProfilingHandler:b enableServer:b enableSystemLogHandler:b enableSystemLogQuery:b
KubeletConfiguration 31 enforceNodeAllocatable:ls eventBurst:i eventRecordQPS:i evictionHard:ms
KubeletConfiguration 31 evictionMaxPodGracePeriod:i evictionMinimumReclaim:ms evictionPressureTransitionPeriod:d
KubeletConfiguration 31 evictionSoft:ms evictionSoftGracePeriod:ms failCgroupV1:b failSwapOn:b featureGates:mb
KubeletConfiguration 31 fileCheckFrequency:d hairpinMode:s healthzBindAddress:s healthzPort:i httpCheckFrequency:d
KubeletConfiguration 31 imageGCHighThresholdPercent:i imageGCLowThresholdPercent:i imageMaximumGCAge:d
KubeletConfiguration 31 imageMinimumGCAge:d imageServiceEndpoint:s iptablesDropBit:i iptablesMasqueradeBit:i
KubeletConfiguration 31 kernelMemcgNotification:b kubeAPIBurst:i kubeAPIQPS:i kubeReserved:ms kubeReservedCgroup:s
KubeletConfiguration 31 kubeletCgroups:s localStorageCapacityIsolation:b logging:oLoggingConfiguration
KubeletConfiguration 31 makeIPTablesUtilChains:b maxOpenFiles:i maxParallelImagePulls:i maxPods:i memoryManagerPolicy:s
KubeletConfiguration 31 memorySwap:oMemorySwapConfiguration memoryThrottlingFactor:a nodeLeaseDurationSeconds:i
KubeletConfiguration 31 nodeStatusMaxImages:i nodeStatusReportFrequency:d nodeStatusUpdateFrequency:d oomScoreAdj:i
KubeletConfiguration 31 podCIDR:s podLogsDir:s podPidsLimit:i podsPerCore:i port:i protectKernelDefaults:b providerID:s
KubeletConfiguration 31 qosReserved:ms readOnlyPort:i registerNode:b registerWithTaints:la registryBurst:i
KubeletConfiguration 31 registryPullQPS:i reservedMemory:loMemoryReservation reservedSystemCPUs:s resolvConf:s
KubeletConfiguration 31 rotateCertificates:b runOnce:b runtimeRequestTimeout:d seccompDefault:b serializeImagePulls:b
KubeletConfiguration 31 serverTLSBootstrap:b showHiddenMetricsForVersion:s shutdownGracePeriod:d
KubeletConfiguration 31 shutdownGracePeriodByPodPriority:loShutdownGracePeriodByPodPriority
KubeletConfiguration 31 shutdownGracePeriodCriticalPods:d staticPodPath:s staticPodURL:s staticPodURLHeader:mls
KubeletConfiguration 31 streamingConnectionIdleTimeout:d syncFrequency:d systemCgroups:s systemReserved:ms
KubeletConfiguration 31 systemReservedCgroup:s tlsCertFile:s tlsCipherSuites:ls tlsMinVersion:s tlsPrivateKeyFile:s
KubeletConfiguration 31 topologyManagerPolicy:s topologyManagerPolicyOptions:ms topologyManagerScope:s
KubeletConfiguration 31 tracing:oTracingConfiguration volumePluginDir:s volumeStatsAggPeriod:d
KubeletConfiguration 32 crashLoopBackOff:oCrashLoopBackOffConfig singleProcessOOMKill:b
KubeletConfiguration 33 imagePullCredentialsVerificationPolicy:s mergeDefaultEvictionSettings:b
KubeletConfiguration 33 preloadedImagesVerificationAllowlist:ls userNamespaces:oUserNamespaces
KubeletConfiguration 36 memoryReservationPolicy:s tlsCurvePreferences:li
CrashLoopBackOffConfig 32 maxContainerRestartPeriod:d
KubeletAnonymousAuthentication 31 enabled:b
KubeletAuthentication 31 anonymous:oKubeletAnonymousAuthentication webhook:oKubeletWebhookAuthentication
KubeletAuthentication 31 x509:oKubeletX509Authentication
KubeletAuthorization 31 mode:s webhook:oKubeletWebhookAuthorization
KubeletWebhookAuthentication 31 cacheTTL:d enabled:b
KubeletWebhookAuthorization 31 cacheAuthorizedTTL:d cacheUnauthorizedTTL:d
KubeletX509Authentication 31 clientCAFile:s
LoggingConfiguration 31 flushFrequency:a format:s options:a verbosity:i vmodule:a
MemoryReservation 31 limits:a numaNode:i
MemorySwapConfiguration 31 swapBehavior:s
ShutdownGracePeriodByPodPriority 31 priority:i shutdownGracePeriodSeconds:i
TracingConfiguration 31 endpoint:s samplingRatePerMillion:i
UserNamespaces 33 idsPerPod:i
`;

/**
 * The fields of KubeletConfiguration that take words or numbers within limits: ValidateKubeletConfiguration (k/k
 * pkg/kubelet/apis/config/validation/validation.go) of the same releases, and cipher suites elsewhere. Where the kubelet
 * replaces an empty text or 0 by a default, it takes that, too.
 */
const WORDS = `
cgroupDriver cgroupfs systemd
hairpinMode promiscuous-bridge hairpin-veth none
topologyManagerPolicy none best-effort restricted single-numa-node
topologyManagerScope container pod
configMapAndSecretChangeDetectionStrategy Get Cache Watch
enforceNodeAllocatable pods system-reserved kube-reserved system-reserved-compressible kube-reserved-compressible none
imagePullCredentialsVerificationPolicy NeverVerify NeverVerifyPreloadedImages NeverVerifyAllowlistedImages AlwaysVerify
memoryReservationPolicy None TieredReservation
swapBehavior NoSwap LimitedSwap
tlsMinVersion VersionTLS10 VersionTLS11 VersionTLS12 VersionTLS13
`;
const LIMITS = `
containerLogMaxFiles 2-
containerLogMaxWorkers 1-
eventBurst 0-
eventRecordQPS 0-
healthzPort 0-65535
imageGCHighThresholdPercent 0-100
imageGCLowThresholdPercent 0-100
iptablesDropBit 0-31
iptablesMasqueradeBit 0-31
kubeAPIBurst 0-
kubeAPIQPS 0-
maxOpenFiles 0-
maxParallelImagePulls 1-
maxPods 0-
oomScoreAdj -1000-1000
podsPerCore 0-
port 0-65535
readOnlyPort 0-65535
registryBurst 0-
registryPullQPS 0-
`;

/** The words that fields of the kubelet's configuration take, by field. */
export function kubeletWords(): ReadonlyMap<string, readonly string[]> {
  const lines = WORDS.trim().split('\n');
  const fields = lines.map((line) => {
    const [field = '', ...words] = line.split(' ');
    return [field, words] as const;
  });
  return new Map([...fields, ['tlsCipherSuites', cipherSuites()]]);
}

/** The limits of numbers in the kubelet's configuration, by field. */
export function kubeletLimits(): ReadonlyMap<string, { readonly least: number; readonly most: number }> {
  return new Map(
    LIMITS.trim()
      .split('\n')
      .map((line) => {
        const [, field = '', least, most] = /^(\w+) (-?\d+)-(\d*)$/.exec(line) ?? [];
        return [field, { least: Number(least), most: most === '' ? Number.POSITIVE_INFINITY : Number(most) }] as const;
      }),
  );
}

/** The minors whose fields are known: earlier ones may have more, and later ones new ones. */
export const KUBELET_FIELDS_MINORS = { oldest: 31, newest: 36 } as const;

/** The fields of each type, by name. */
export function kubeletFields(): ReadonlyMap<string, ReadonlyMap<string, KubeletField>> {
  const types = new Map<string, Map<string, KubeletField>>();
  for (const line of TABLE.trim().split('\n')) {
    const [type = '', since = '', ...entries] = line.split(' ');
    const fields = types.get(type) ?? new Map<string, KubeletField>();
    types.set(type, fields);
    const first = Number(since) === KUBELET_FIELDS_MINORS.oldest ? OLDEST_MINOR : Number(since);
    for (const entry of entries) {
      const [name = '', kind = ''] = entry.split(':');
      fields.set(name, { since: first, kind: parseKind(kind) });
    }
  }
  return types;
}

function parseKind(text: string): FieldKind {
  const rest = text.slice(1);
  switch (text[0]) {
    case 's':
      return { is: 'text' };
    case 'b':
      return { is: 'flag' };
    case 'i':
      return { is: 'integer' };
    case 'd':
      return { is: 'duration' };
    case 'l':
      return { is: 'list', of: parseKind(rest) };
    case 'm':
      return { is: 'map', of: parseKind(rest) };
    case 'o':
      return { is: 'object', type: rest };
    default:
      return { is: 'anything' };
  }
}
