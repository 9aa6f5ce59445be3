import type { ExitName } from '@machineadm/document/outcomes/exit-codes.ts';
import { REASONS } from '@machineadm/document/outcomes/reasons.ts';
import { SITUATIONS } from './situations.ts';

/** The exits of a run that has begun to change the machine. */
export const OF_APPLY: ReadonlySet<ExitName> = new Set(['HostStepFailed', 'BootstrapperFailed', 'NotReady']);

/** How a failure of `provision` is known beforehand. */
export type Known =
  /** `SITUATIONS` of this reason: plan and doctor name it. */
  | { readonly tried: true }
  /** This test shows that the preflight of the step reports it, which plan and doctor call. */
  | { readonly shown: string }
  /** Only `doctor -f` names it, because plan asks no other machine. */
  | { readonly doctor: string }
  /** Nobody can know it before: why. */
  | { readonly why: string };

const CLUSTER_ANSWERS =
  'plan asks no other machine. doctor -f asks the endpoint: its name, the connection, TLS, its clock and cluster-info.';
const WHY = {
  cluster:
    'The cluster decides it when this machine asks with its credentials, and may decide otherwise a minute later.',
  registry: 'A registry answers to a pull. Images may also come from an archive or a mirror until then.',
  runs: 'It shows only when the program runs with what the run writes.',
  between: 'It happens during the run: a kill, a deadline, or a change by another program or person.',
  written:
    'machineadm writes the configuration of kubeadm. validate and render refuse what its version does not accept.',
  flags:
    'validate knows the flags and fields of each version. What a hook, a drop-in or the cluster adds shows when the program starts.',
  content: 'The content comes in the run: a download, an archive or the output of a hook.',
  kernel: 'Only the kernel can tell whether it accepts the change, by making it.',
  tool: 'The tool of the operating system decides it when it makes the change.',
  domain: 'A domain controller decides it, and each question with a password counts as an attempt to log in.',
  defect: 'It has no more specific reason: the evidence tells what happened.',
  etcd: 'The members of etcd tell it only to a client with certificates, which the join brings.',
  reset: 'A reset reports it; reset --dry-run names what is in the way.',
  upgrade:
    'Only machineadm upgrade can fail with it, while it runs kubeadm, etcd and the kubelet. upgrade --dry-run checks what can be known before.',
  filter: 'A packet filter shows its effect only to packets.',
} as const;

const because = (why: string, ...reasons: readonly string[]): Record<string, Known> =>
  Object.fromEntries(reasons.map((reason) => [reason, { why }]));
const shown = (file: string, ...reasons: readonly string[]): Record<string, Known> =>
  Object.fromEntries(reasons.map((reason) => [reason, { shown: file }]));
const byDoctor = (...reasons: readonly string[]): Record<string, Known> =>
  Object.fromEntries(reasons.map((reason) => [reason, { doctor: CLUSTER_ANSWERS }]));

const ROWS: Readonly<Record<string, Known>> = {
  // Host steps.
  ...shown('unit/features/storage/filesystems.test.ts', 'DeviceMissing', 'DeviceBusy', 'FilesystemDiffers'),
  ...shown('unit/features/storage/preflight.test.ts', 'DiskNotEmpty', 'DiskTooSmall'),
  ...shown('unit/features/storage/mounts.test.ts', 'MountConflict'),
  ...shown('unit/features/users/users.test.ts', 'AuthorizedKeysNotWritten'),
  ...because(WHY.kernel, 'SysctlInvalidValue', 'SysctlNotEffective', 'HostnameNotEffective', 'MountFailed'),
  ...because(
    WHY.tool,
    ...[
      'PartitioningFailed',
      'GrowthFailed',
      'FilesystemNotMade',
      'AccountNotChanged',
      'CertificateAuthorityNotTrusted',
    ],
    ...[
      'NetworkNotApplied',
      'NetworkLost',
      'ResumptionNotArranged',
      'DirectoryLoginsNotConfigured',
      'KeytabNotWritten',
    ],
  ),
  ...because(
    WHY.content,
    'ArchiveUnreadable',
    'ArchiveRefused',
    'DownloadFailed',
    'ImageArchiveUnreadable',
    'ImageMissing',
  ),
  ...because(
    WHY.runs,
    'ServiceFailed',
    'HookFailed',
    'HookTimedOut',
    'RequiredUnitNotStarted',
    'EnvironmentFileMissing',
  ),
  ...because(WHY.runs, 'HooksUnreadable', 'PackageManagerLocked', 'CloudInitScriptFailed', 'ClockNotSynchronized'),
  ...because(WHY.between, 'CommandKilled', 'StepNotEffective', 'StepUndone', 'RebootNotEffective', 'UnsafePath'),
  ...because(WHY.defect, 'HostStepFailed', 'HTTPRequestFailed'),
  ...because(WHY.reset, 'ResetFailed'),
  DeviceAmbiguous: { why: 'The devices of a machine may still appear: a run waits for them, and then compares all.' },
  PasswordHashInvalid: { why: 'validate refuses a hash in the document. A secret has its value only in the run.' },
  PKIInvalid: {
    why: 'The preflight of the step reads the keys, unless their secrets have side effects: then their values come in the run.',
  },
  ...because(
    WHY.domain,
    ...['DomainNotFound', 'DomainNameServiceFailed', 'DomainControllerUnreachable', 'DomainControllerClockSkew'],
    ...['DomainCredentialsRejected', 'DomainAccountDisabled', 'DomainPasswordExpired', 'DomainPermissionDenied'],
    ...['OneTimePasswordRejected', 'ComputerAccountMissing', 'ComputerAccountExists', 'OrganizationalUnitMissing'],
    ...['OrganizationalUnitInvalid', 'ServicePrincipalConflict', 'DomainTLSUntrusted', 'DomainJoinBlobInvalid'],
    ...[
      'MemberOfOtherDomain',
      'DomainJoinBroken',
      'DomainJoinTimedOut',
      'DomainAddressNotRegistered',
      'DomainJoinFailed',
    ],
  ),

  // The container runtime.
  ...because(
    WHY.runs,
    ...[
      'ContainerdConfigSyntax',
      'ContainerdConfigUnknownKey',
      'ContainerdConfigNotEffective',
      'ContainerdConfigWrongType',
    ],
    ...['ContainerdRegistryConflict', 'ContainerdRuntimeUndefined', 'ContainerdUnhealthy', 'ContainerRuntimeNotReady'],
    ...['ContainerRuntimeNotRunning', 'ContainerdConfigInvalid', 'ContainerdCRIPluginFailed', 'CgroupDriverMismatch'],
    ...[
      'OCIRuntimeMissing',
      'OCIRuntimeCreateFailed',
      'ContainerCommandNotFound',
      'CRISocketWrong',
      'CRIv1Unimplemented',
    ],
    ...['ContainerRuntimeTooOld', 'KMSSocketMissing', 'EncryptionKeyNeeded', 'EncryptionConfigInvalid'],
  ),
  ...because(
    WHY.registry,
    ...['SandboxImageUnavailable', 'SandboxImageMismatch', 'ImagePullDNSFailure', 'ImageRegistryUnreachable'],
    ...[
      'ImageRegistryTLSUntrusted',
      'ImagePullRateLimited',
      'ImagePullUnauthorized',
      'ImageNotFound',
      'ImagePullFailed',
    ],
    ...['ImageRegistryPlainHTTP', 'ImagePlatformMismatch', 'ProxyConnectFailed', 'StaticPodImagePullFailed'],
  ),

  // kubeadm.
  ...because(
    WHY.written,
    ...[
      'KubeadmConfigInvalid',
      'KubeadmAPIVersionRemoved',
      'KubeadmAPIVersionDeprecated',
      'KubeadmAPIVersionExperimental',
    ],
    ...['KubeadmAPIVersionUnknown', 'ClusterConfigurationVersionUnsupported', 'KubeadmConfigUnknownField'],
    ...[
      'KubeadmConfigTypeMismatch',
      'KubeadmConfigSyntaxInvalid',
      'KubeadmConfigKindMissing',
      'KubeadmConfigDuplicateKind',
    ],
    ...['KubeadmConfigFileMissing', 'KubeadmFlagConflict', 'CACertHashRequired', 'DiscoveryFileInvalid'],
    ...['UnknownKubeadmPhase', 'UnknownKubeadmFeatureGate', 'VersionLookupOffline', 'ControlPlaneVersionTooOld'],
    ...['KubeadmPatchFailed', 'AdvertiseAddressInvalid', 'BootstrapTokenMalformed', 'CACertHashMalformed'],
    ...['CertificateKeyMalformed', 'ControlPlaneEndpointMissing'],
  ),
  ...because(WHY.defect, 'BootstrapperFailed', 'ExecBootstrapperFailed', 'PreflightFileExists'),
  ...because(
    WHY.between,
    ...['BootstrapperKilled', 'ContainerRuntimeKilled', 'KubeletStopped', 'KubeletKilled', 'KubeletServiceNotEnabled'],
    ...[
      'KubeletAlreadyRunning',
      'NodeAlreadyJoined',
      'ManifestsDirNotEmpty',
      'BootstrapKubeconfigMissing',
      'OutOfMemory',
    ],
    ...['KubeletServingCertificateMissing', 'CertificateKeySecretExpired', 'SharedCertificatesMissing'],
  ),
  ...because(
    WHY.runs,
    ...['KernelConfigUnsupported', 'KubeletStartLimitHit', 'KubeletCrashLoop', 'ExecutionDenied'],
    ...['ProcessLimitReached', 'OpenFilesLimitReached', 'SELinuxDenied', 'StaticPodCrashLoop', 'HostPathTypeMismatch'],
    ...[
      'StaticPodInsufficientResources',
      'StaticPodManifestInvalid',
      'ControlPlaneComponentNotHealthy',
      'NodeDiskPressure',
    ],
    ...['NodeMemoryPressure', 'HardeningNotEffective', 'HardenedComponentFailed', 'APIServerNotReconfigured'],
    ...['AdminBootstrapFailed', 'SuccessTestFailed', 'KubeletNotHealthy', 'NodeNotReady', 'NodeIdentityMismatch'],
    ...[
      'NodeNotRegistered',
      'NodeStateUnknown',
      'TLSBootstrapTimeout',
      'NodeRegistrationTimeout',
      'FirewalldActive',
      'HostnameUnresolvable',
    ],
    ...['NoDefaultRoute', 'SwapEnabled', 'AuditPolicyFileMissing', 'AuditPolicyInvalid'],
  ),
  ...because(
    WHY.flags,
    ...['KubeletUnknownFlag', 'KubeletConfigInvalid', 'KubeletConfigUnknownField', 'UnrecognizedFeatureGate'],
    ...['ComponentUnknownFlag'],
  ),
  ...because(WHY.filter, 'APIServerPortBlocked', 'EtcdUnreachableFromAPIServer', 'APIServerUnreachableFromKubelet'),

  // The cluster.
  ...byDoctor(
    ...[
      'APIEndpointDNSFailure',
      'APIEndpointConnectionRefused',
      'APIEndpointTimeout',
      'APIEndpointLoadBalancerUnhealthy',
    ],
    ...['APIEndpointNotTLS', 'APIServerCertUntrusted', 'APIServerCertSANMismatch', 'ClusterInfoForbidden'],
    ...['ClusterInfoNotFound', 'BootstrapTokenNotFound', 'BootstrapTokenSecretMismatch', 'CACertHashMismatch'],
    ...['EtcdNoLeader'],
  ),
  ...because(
    WHY.cluster,
    ...['APIEndpointUsesProxy', 'APIServerUnavailable', 'APIServerUnstable', 'BootstrapTokenExpired'],
    ...['BootstrapTokenUnauthorized', 'KubeadmConfigForbidden', 'KubeadmConfigMapMissing', 'KubeletConfigMapMissing'],
    ...['CertificateSecretForbidden', 'CertificateKeyMismatch', 'CertificateSecretIncomplete', 'CSRForbidden'],
    ...['NodeRefused', 'NodeLabelRefused', 'APIRequestRefused', 'NodeNameConflict', 'NodeGetForbidden'],
    ...['AdmissionWebhookFailed', 'APIEndpointOtherCluster', 'NodeLabelsNotSet'],
  ),
  ...because(
    WHY.etcd,
    ...['ExternalEtcdVersionUnsupported', 'ExternalEtcdUnreachable', 'ExternalEtcdCertMissing', 'EtcdClusterUnhealthy'],
    ...['EtcdEndpointsUnknown', 'EtcdPeerUnreachable', 'EtcdPeerTLSRejected', 'EtcdLearnerNotInSync'],
    ...['EtcdMemberNotStarted', 'EtcdLearnerAlreadyPromoted', 'EtcdMemberAlreadyExists', 'EtcdConcurrentJoin'],
    ...[
      'EtcdNotEnoughStartedMembers',
      'EtcdClusterNotAvailable',
      'EtcdDatabaseSpaceExceeded',
      'EtcdMemberListMismatch',
    ],
    ...['EtcdMemberRemoved', 'EtcdClusterIDMismatch', 'EtcdSlowDisk'],
  ),
  ...because(
    WHY.upgrade,
    'CertificatesNotRenewed',
    'ControlPlaneNotReconfigured',
    'EtcdSnapshotFailed',
    'KubeadmUpgradeFailed',
    'KubeletNotReconfigured',
    'UpgradeNotProven',
  ),
  // Tested with certificates of an authority made for the test.
  ...shown(
    'unit/kubernetes/kubeadm/disk-obstacles.test.ts',
    'CertificateExpired',
    'ClockSkew',
    'StaleCertificates',
    'StaleKubeconfig',
  ),
};

/** By reason: every one with which the changes of a run can fail. */
export const APPLY_FAILURES: Readonly<Record<string, Known>> = {
  ...ROWS,
  ...Object.fromEntries(
    Object.keys(SITUATIONS).flatMap((reason): [string, Known][] =>
      reasonExit(reason) === undefined ? [] : [[reason, { tried: true }]],
    ),
  ),
};

function reasonExit(name: string): ExitName | undefined {
  const exit = new Map<string, { readonly exit: ExitName }>(Object.entries(REASONS)).get(name)?.exit;
  return exit !== undefined && OF_APPLY.has(exit) ? exit : undefined;
}

/** docs/plan-and-apply.md */
export function planAndApplyPage(): string {
  const meaning = new Map<string, string>(Object.entries(REASONS).map(([name, one]) => [name, one.meaning]));
  const known = Object.entries(APPLY_FAILURES).sort(([a], [b]) => (a < b ? -1 : 1));
  const of = (isIt: (row: Known) => boolean) => known.filter(([, row]) => isIt(row));
  const tried = Object.entries(SITUATIONS).flatMap(([reason, all]) =>
    all.map(({ what }) => `| \`${reason}\` | ${what} |`),
  );
  const doctor = of((row) => 'doctor' in row).map(([reason]) => `| \`${reason}\` | ${meaning.get(reason)} |`);
  const elsewhere = of((row) => 'shown' in row).map(([reason]) => `| \`${reason}\` | ${meaning.get(reason)} |`);
  const unknowable = [...new Set(known.flatMap(([, row]) => ('why' in row ? [row.why] : [])))].map((why) => {
    const reasons = of((row) => 'why' in row && row.why === why).map(([reason]) => `\`${reason}\``);
    return `| ${why} | ${reasons.join(', ')} |`;
  });
  return [
    '# What plan and doctor know before a run',
    '',
    '<!-- Generated by `npm run generate` from `test/support/apply-failures`; do not edit. -->',
    '',
    'A step reads everything that its changes will need before a run begins. `plan` and `doctor -f` report what is missing, and `provision` refuses with exit code 4 and changes nothing.',
    'If a hook, a file of the document or an earlier step may still bring what is missing, they report a warning, and the run checks again after that step.',
    '',
    'This page has every reason with which a run can fail after it began. A test fails if a reason has no row.',
    '',
    '## Named by plan and doctor',
    '',
    'For each row a test makes such a machine: `plan` ends with 4, `doctor -f` with 20, both print the reason, and nothing is changed. Three rows are warnings, because a service may correct them before kubeadm looks: forwarding, br_netfilter and a damaged certificate. For host steps it also makes the changes all the same, and they fail with this reason.',
    '',
    '| Reason | On this machine |',
    '|---|---|',
    ...tried,
    '',
    'Shown by tests of the step, with the tools of the operating system or with certificates:',
    '',
    '| Reason | Meaning |',
    '|---|---|',
    ...elsewhere,
    '',
    '## Named by doctor only',
    '',
    CLUSTER_ANSWERS,
    '',
    '| Reason | Meaning |',
    '|---|---|',
    ...doctor,
    '',
    '## What nobody can know before',
    '',
    'Some of these also have a case above that is known: this table is about the rest.',
    '',
    '| Why | Reasons |',
    '|---|---|',
    ...unknowable,
    '',
  ].join('\n');
}
