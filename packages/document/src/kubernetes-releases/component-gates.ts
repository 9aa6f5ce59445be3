import { includes, type MinorWindow } from './minor.ts';

/** A feature gate of the components, and the minors that know it. */
export interface ComponentGate extends MinorWindow {
  /** The last minor is only known not to be later. */
  readonly untilAtMost?: boolean;
  /** The minor from which the components refuse any other value than `lockedTo`. */
  readonly lockedSince?: number;
  /** Absent: true. */
  readonly lockedTo?: false;
}

/**
 * The feature gates of kube-apiserver, kube-controller-manager, kube-scheduler, kubelet and kube-proxy, which share one set
 * (k/k pkg/features/kube_features.go and staging/src/k8s.io/{apiserver,client-go,component-base}). A line: the first and
 * the last minor of 1.x that know its names (20: that or earlier; no last one: still there in 1.36; `~`: at most), then the
 * names, each with `!` and the minor that locks it to true, or to false with an `f` behind the minor.
 *
 * Sources, in November 2026:
 * - 1.20: the gates that a kubelet 1.20.2 accepts
 * - to 1.27: kubernetes/website feature-gates.md and feature-gates-removed.md of 1.27
 * - removals to 1.30: CHANGELOG-1.25.md to CHANGELOG-1.30.md
 * - 1.31.14, 1.32.13, 1.33.13, 1.34.9, 1.35.6, 1.36.3: the sources: pkg/features, the same directories of the staging
 *   repositories with client-go's, and the lists of test/featuregates_linter and test/compatibility_lifecycle, with the
 *   names of the flags (CustomCPUCFSQuotaPeriod is CPUCFSQuotaPeriod in these lists)
 */
const TABLE = `
20-20~ HyperVContainer WindowsGMSA WindowsRunAsUserName
20-21~ AttachVolumeLimit BlockVolume CSIBlockVolume CSIDriverRegistry CSIMigrationAWSComplete
20-21~ CSIMigrationAzureDiskComplete CSIMigrationAzureFileComplete CSIMigrationGCEComplete CSIMigrationOpenStackComplete
20-21~ EvenPodsSpread RotateKubeletClientCertificate TokenRequest TokenRequestProjection VolumePVCDataSource
20-22~ BalanceAttachedNodeVolumes CRIContainerLogRotation CSIMigrationvSphereComplete CSINodeInfo
20-22~ ExternalPolicyForExternalIP LegacyNodeRoleBehavior NodeDisruptionExclusion RootCAConfigMap RunAsGroup SCTPSupport
20-22~ ServiceAppProtocol ServiceNodeExclusion ServiceTopology Sysctls VolumeSnapshotDataSource
20-23~ BoundServiceAccountTokenVolume CronJobControllerV2 NodeLease ServiceAccountIssuerDiscovery StartupProbe
20-23~ SupportNodePidsLimit SupportPodPidsLimit
20-24~ CSIServiceAccountToken EndpointSlice EndpointSliceNodeName EndpointSliceProxying GenericEphemeralVolume
20-24~ HugePageStorageMediumSize IPv6DualStack ImmutableEphemeralVolumes RuntimeClass SetHostnameAsFQDN
20-24~ StorageObjectInUseProtection StreamingProxyRedirects TTLAfterFinished ValidateProxyRedirects VolumeSubpath
20-24~ WarningHeaders WindowsEndpointSliceProxying
20-25~ AllowInsecureBackendProxy CSIMigrationOpenStack CSIVolumeFSGroupPolicy ConfigurableFSGroupPolicy
20-25~ DefaultPodTopologySpread DynamicKubeletConfig NonPreemptingPriority PodDisruptionBudget PodOverhead SelectorIndex
20-25~ ServiceLBNodePortControl
20-26~ CSIInlineVolume CSIMigration CSIMigrationAWS CSIMigrationAzureDisk EphemeralContainers ExpandCSIVolumes
20-26~ ExpandInUsePersistentVolumes ExpandPersistentVolumes LocalStorageCapacityIsolation
20-27 AdvancedAuditing CSIMigrationGCE CSIStorageCapacity DevicePlugins DisableAcceleratorUsageMetrics
20-27 EndpointSliceTerminatingCondition KubeletCredentialProviders MixedProtocolLBService
20-29 ExperimentalHostUserNamespaceDefaulting KubeletPodResources RemoveSelfLink
20-30 APIPriorityAndFairness
20-30~ CSIMigrationAzureFile CSIMigrationvSphere DownwardAPIHugePages DryRun TopologyManager
20-31 HPAContainerMetrics!30 ServerSideApply!31
20-32 APIListChunking!29 AppArmor!31 CPUManager!26 EfficientWatchResumption!24 RemainingItemCount!29 WatchBookmark!31
20-34 SizeMemoryBackedVolumes!32
20- APIResponseCompression APIServerIdentity AnyVolumeDataSource!33 CustomCPUCFSQuotaPeriod ExecProbeTimeout!35
20- GracefulNodeShutdown HPAScaleToZero LocalStorageCapacityIsolationFSQuotaMonitoring ProcMountType!36 QOSReserved
20- RotateKubeletServerCertificate StorageVersionAPI StorageVersionHash WinDSR!34 WinOverlay!34
21-23~ NamespaceDefaultLabelName
21-24~ IngressClassNamespacedParams
21-25~ IndexedJob PodAffinityNamespaceSelector PreferNominatedNode ServiceLoadBalancerClass SuspendJob
21-26~ ControllerManagerLeaderMigration DaemonSetUpdateSurge NetworkPolicyEndPort
21-27 ServiceInternalTrafficPolicy
21-29 KubeletPodResourcesGetAllocatable
21-30 ConsistentHTTPGetHandlers DefaultHostNetworkHostPortsInPodTemplates SkipReadOnlyValidationGCE
21-30~ InTreePluginAWSUnregister InTreePluginAzureDiskUnregister InTreePluginAzureFileUnregister
21-30~ InTreePluginGCEUnregister InTreePluginOpenStackUnregister InTreePluginvSphereUnregister
21-30~ ProbeTerminationGracePeriod
21-31 KMSv2KDF!31
21-32 VolumeCapacityPriority
21-34 AllowServiceLBStatusOnNonLB!32f
21-35 MemoryManager!32 TopologyAwareHints!33
21- CSIVolumeHealth LogarithmicScaleDown!31 PodDeletionCost
22-25~ CSRDuration
22-26~ StatefulSetMinReadySeconds
22-27 DelegateFSGroupToCSIDriver WindowsHostProcessContainers
22-29 ExpandedDNSConfig ProxyTerminatingEndpoints
22-30~ JobTrackingWithFinalizers PodSecurity ReadWriteOncePod SeccompDefault
22-32 DisableCloudProviders!31
22- APIServerTracing!34 CPUManagerPolicyOptions!33 KubeletInUserNamespace MemoryQoS NodeSwap!34
23-26~ IdentifyPodOS
23-30~ CSIMigrationRBD CustomResourceValidationExpressions GRPCContainerProbe InTreePluginRBDUnregister
23-30~ JobMutableNodeSchedulingDirectives JobReadyPods OpenAPIV3
23-31 ServerSideFieldValidation!31
23-32 DisableKubeletCloudCredentialProviders!31
23-34 StatefulSetAutoDeletePVC!32
23-35 CSIMigrationPortworx!33 HonorPVReclaimPolicy!33 InTreePluginPortworxUnregister
23- CPUManagerPolicyAlphaOptions CPUManagerPolicyBetaOptions GracefulNodeShutdownBasedOnPodPriority OpenAPIEnums
23- PodAndContainerStatsFromCRI RecoverVolumeExpansionFailure!34
24-27 ServiceIPStaticSubrange
24-30~ CronJobTimeZone LegacyServiceAccountTokenNoAutoGeneration NetworkPolicyStatus
24-31 MinDomainsInPodTopologySpread!30 NodeOutOfServiceVolumeDetach!31
24- ContextualLogging LoggingAlphaOptions LoggingBetaOptions MaxUnavailableStatefulSet
25-29 IPTablesOwnershipCleanup
25-30 CSINodeExpandSecret
25-30~ MultiCIDRRangeAllocator PodHasNetworkCondition RetroactiveDefaultStorageClass UserNamespacesStatelessPodsSupport
25-31 KMSv2!31
25-32 JobPodFailurePolicy!31
25-33 PodDisruptionConditions!31
25- ContainerCheckpoint KubeletTracing!34 MatchLabelKeysInPodTopologySpread NodeInclusionPolicyInPodTopologySpread!33
25- SELinuxMountReadWriteOncePod!36 UnauthenticatedHTTP2DOSMitigation UserNamespacesSupport!36
26-29 MinimizeIPTablesRestore
26-30~ APISelfSubjectReview LegacyServiceAccountTokenTracking
26-31 ValidatingAdmissionPolicy!30
26-32 AggregatedDiscoveryEndpoint!30 PDBUnhealthyPodEvictionPolicy!31
26-33 StatefulSetStartOrdinal!31
26-34 ComponentSLIs!32
26- CrossNamespaceVolumeDataSource DynamicResourceAllocation!35 EventedPLEG PodSchedulingReadiness!30
26- TopologyManagerPolicyAlphaOptions TopologyManagerPolicyBetaOptions TopologyManagerPolicyOptions!32
26- WindowsHostNetwork
27-30 ServiceNodePortStaticSubrange
27-30~ SecurityContextDeny
27-31 CloudDualStackNodeIPs!30 NewVolumeManagerReconstruction!30 StableLoadBalancerNodeSet!30
27-32 AdmissionWebhookMatchConditions!30
27-33 ElasticIndexedJob!31
27-35 WatchFromStorageWithoutResourceVersion!33f
27- CloudControllerManagerWebhook ClusterTrustBundle InPlacePodVerticalScaling!35 KubeletPodResourcesDynamicResources!36
27- KubeletPodResourcesGet!36 MultiCIDRServiceAllocator!34 NodeLogQuery!36 WatchList
28-31 LegacyServiceAccountTokenCleanUp!30 PodHostIPs!30
28-32 KubeProxyDrainingTerminatingNodes!31 PersistentVolumeLastPhaseTransitionTime!31
28-33 DevicePluginCDIDevices!31
28-34 CronJobsScheduledAnnotation!32 PodIndexLabel!32
28- CRDValidationRatcheting!33 ConsistentListFromCache!34 JobBackoffLimitPerIndex!33 JobPodReplacementPolicy!34 KMSv1
28- KubeletCgroupDriverFromCRI!34 PodReadyToStartContainersCondition SchedulerQueueingHints!34 SeparateCacheWatchRPC!36f
28- SidecarContainers!33 UnknownVersionInteroperabilityProxy
29-31 ZeroLimitedNominalConcurrencyShares!30
29-34 LoadBalancerIPMode!32 UserNamespacesPodSecurityStandards
29-35 StructuredAuthorizationConfiguration!32
29- ClusterTrustBundleProjection DisableNodeKubeProxyVersion!36 ImageMaximumGCAge!35 KubeletSeparateDiskGC
29- MatchLabelKeysInPodAffinity!33 NFTablesProxyMode!33 PodLifecycleSleepAction!34 RuntimeClassInImageCriApi
29- SeparateTaintEvictionController!34 ServiceAccountTokenJTI!32 ServiceAccountTokenNodeBinding!33
29- ServiceAccountTokenNodeBindingValidation!32 ServiceAccountTokenPodNodeInfo!32
29- StructuredAuthenticationConfiguration!34 TranslateStreamCloseWebsocketRequests VolumeAttributesClass!36
30-32 AppArmorFields!31
30-34 StrictCostEnforcementForVAP!32 StrictCostEnforcementForWebhooks!32
30-35 ServiceTrafficDistribution!33
30- APIServingWithRoutine CustomResourceFieldSelectors!32 InformerResourceVersion JobManagedBy!35 JobSuccessPolicy!33
30- MutatingAdmissionPolicy OrderedNamespaceDeletion!34 PortForwardWebsockets RecursiveReadOnlyMounts!33
30- RelaxedEnvironmentVariableValidation!34 RetryGenerateName!32 SELinuxMount StorageNamespaceIndex
30- StorageVersionMigrator WatchListClient
31-31 DRAControlPlaneController
31- AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests AnonymousAuthConfigurableEndpoints!34
31- AuthorizeNodeWithSelectors!34 AuthorizeWithSelectors!34 ConcurrentWatchObjectDecode CoordinatedLeaderElection
31- DisableAllocatorDualWrite!35 ImageVolume!36 ReloadKubeletServerCertificateFile ResilientWatchCacheInitialization!34
31- ResourceHealthStatus StreamingCollectionEncodingToJSON!34 StreamingCollectionEncodingToProtobuf!34
31- SupplementalGroupsPolicy!35 WatchCacheInitializationPostStartHook
32-35 InPlacePodVerticalScalingAllocatedStatus
32- AllowOverwriteTerminationGracePeriodSeconds!35f AllowUnsafeMalformedObjectDeletion BtreeWatchCache!33
32- CBORServingAndStorage ClientsAllowCBOR ClientsPreferCBOR ComponentFlagz ComponentStatusz DRAAdminAccess!36
32- DRAResourceClaimDeviceStatus ExternalServiceAccountTokenSigner!36 InPlacePodVerticalScalingExclusiveCPUs
32- KubeletCrashLoopBackOffMax KubeletFineGrainedAuthz!36 KubeletRegistrationGetOnExistsOnly PodLevelResources
32- PodLifecycleSleepActionAllowZero!34 PodLogsQuerySplitStreams RelaxedDNSSearchValidation!34 RemoteRequestHeaderUID
32- SELinuxChangePolicy!36 SchedulerAsyncPreemption ServiceAccountNodeAudienceRestriction SystemdWatchdog!35
32- WindowsCPUAndMemoryAffinity WindowsGracefulNodeShutdown
33-33 LegacySidecarContainers
33- AggregatedDiscoveryRemoveBetaType!35 AllowParsingUserUIDFromCertAuth ContainerStopSignals DRADeviceTaints
33- DRAPartitionableDevices DRAPrioritizedList DeclarativeValidation!36 DeclarativeValidationTakeover
33- DeploymentReplicaSetTerminatingReplicas DisableCPUQuotaWithExclusiveCPUs GitRepoVolumeDriver!36f
33- HPAConfigurableTolerance InOrderInformers!36 KubeletEnsureSecretPulledImages KubeletPSI!36
33- KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot MutableCSINodeAllocatableCount!36
33- PodObservedGenerationTracking!35 PodTopologyLabelsAdmission PreferSameTrafficDistribution!35
33- ReduceDefaultCrashLoopBackOffDecay SchedulerPopFromBackoffQ StorageCapacityScoring StrictIPCIDRValidation
34-34 ProbeHostPodSecurityStandards!34
34- ClearingNominatedNodeNameAfterBinding ContainerRestartRules DRAConsumableCapacity DRADeviceBindingConditions
34- DRAExtendedResource DRASchedulerFilterTimeout DetectCacheInconsistency EnvFiles HostnameOverride
34- InPlacePodVerticalScalingExclusiveMemory KubeletPodResourcesListUseActivePods
34- MatchLabelKeysInPodTopologySpreadSelectorMerge NominatedNodeNameForExpectation PodCertificateRequest
34- PreventStaticPodAPIReferences RelaxedServiceNameValidation SchedulerAsyncAPICalls SizeBasedListCostEstimate
34- StatefulSetSemanticRevisionComparison StructuredAuthenticationConfigurationEgressSelector
34- TokenRequestServiceAccountUIDValidation
35- AuthorizePodWebsocketUpgradeCreatePermission CRDObservedGenerationTracking CSIServiceAccountTokenSecrets!36
35- ChangeContainerStatusOnKubeletRestart CloudControllerManagerWatchBasedRoutesReconciliation ConstrainedImpersonation
35- DRADeviceTaintRules GangScheduling GenericWorkload InOrderInformersBatchProcess
35- InPlacePodLevelResourcesVerticalScaling MutablePVNodeAffinity MutablePodResourcesForSuspendedJobs
35- MutableSchedulingDirectivesForSuspendedJobs NodeDeclaredFeatures OpportunisticBatching
35- RestartAllContainersOnContainerExits StructuredAuthenticationConfigurationJWKSMetrics
35- TaintTolerationComparisonOperators UserNamespacesHostNetworkSupport VolumeLimitScaling
36- AllowServiceExternalIPs AtomicFIFO CRIListStreaming ClientsAllowCARotation ClientsAllowTLSCacheGC
36- ControllerManagerReleaseLeaderElectionLockOnExit DRAListTypeAttributes DRANodeAllocatableResources
36- DRAResourceClaimGranularStatusAuthorization DRAResourcePoolStatus DRAWorkloadResourceClaims
36- DeclarativeValidationBeta ExtendWebSocketsToKubelet ImageVolumeWithDigest InPlacePodVerticalScalingInitContainers
36- ManifestBasedAdmissionControlConfig NativeHistograms PLEGOnDemandRelist PersistentVolumeClaimUnusedSinceTime
36- PodLevelResourceManagers PodsAPI ReloadKubeletClientCAFile ResourceHealthStatusMessage ServiceCIDRStatusFieldWiping
36- ShardedListAndWatch StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob
36- StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet TopologyAwareWorkloadScheduling
36- UnlockWhileProcessingFIFO WorkloadAwarePreemption WorkloadWithJob
`;

/** The newest minor of which all gates are known: a later one may have gates that are not in the table. */
export const NEWEST_COMPONENT_GATES_MINOR = 36;

/** Switch all alpha or all beta gates at once (k/k staging/src/k8s.io/component-base/featuregate/feature_gate.go). */
const ALL_OF_A_STAGE = ['AllAlpha', 'AllBeta'];

/** Every gate of every minor, by name. */
export function componentGates(): ReadonlyMap<string, ComponentGate> {
  const gates = new Map<string, ComponentGate>(ALL_OF_A_STAGE.map((name) => [name, {}]));
  for (const line of TABLE.trim().split('\n')) {
    const [window = '', ...names] = line.split(' ');
    const [since = '', until = ''] = window.split('-');
    for (const entry of names) {
      const [name = '', locked] = entry.split('!');
      gates.set(name, {
        ...(Number(since) > 20 ? { since: Number(since) } : {}),
        ...(until === '' ? {} : { until: Number.parseInt(until, 10), untilAtMost: until.endsWith('~') }),
        ...(locked === undefined ? {} : { lockedSince: Number.parseInt(locked, 10) }),
        ...(locked?.endsWith('f') === true ? { lockedTo: false } : {}),
      });
    }
  }
  return gates;
}

/** The names that a component of this minor knows. */
export function componentGatesOf(minor: number): readonly string[] {
  return [...componentGates()].filter(([, gate]) => includes(gate, minor)).map(([name]) => name);
}
