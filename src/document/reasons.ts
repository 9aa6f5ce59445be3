import type { ExitName } from './exit-codes.ts';

/**
 * The stable reasons a run can end or wait with: CamelCase, never renamed, renumbered or reused
 * (`test/unit/document/reasons.test.ts` guards the list). Each names the exit code it leads to and what it means
 * to a reader; `contract/reasons.md` is generated from here. The exit code is the usual one: a failure may carry
 * another where the same cause shows in another phase (a KubeletNotHealthy under kubeadm ends with its code).
 */
export const REASONS = {
  // Before any change.
  DocumentNotFound: reason('DocumentInvalid', 'The document source does not exist or cannot be read.'),
  DocumentInvalid: reason('DocumentInvalid', 'The document has mistakes; each is listed with its place and remedy.'),
  DocumentTooLarge: reason('DocumentInvalid', 'The document is larger than the limit of 4 MiB.'),
  UserDataTooLarge: reason('DocumentInvalid', 'The user data is larger than the provider takes.'),
  RequiresNewerAgent: reason('DocumentInvalid', 'The document asks for a newer agent or a feature this one lacks.'),
  UnsupportedOnPlatform: reason('DocumentInvalid', 'The document asks for something this platform cannot do.'),
  UsageInvalid: reason('Usage', 'The command line is wrong.'),
  NoRun: reason('Refused', 'There is no run on this machine to tell of.'),
  LogUnreadable: reason('DocumentInvalid', 'A log that was to be diagnosed cannot be read.'),
  NotPrivilegedUser: reason('Refused', 'machineadm was not started as root.'),
  Locked: reason('Refused', 'Another machineadm run is active on this machine.'),
  DocumentChanged: reason('Refused', 'The kubernetes section changed after this machine was bootstrapped.'),
  JournalUnreadable: reason('Refused', 'The journal of an earlier run is damaged and cannot be trusted.'),
  StatusUnreadable: reason('Refused', 'The status file is damaged or was not written by machineadm.'),
  PreflightFailed: reason('Refused', 'Something the steps need is missing; every missing thing is listed.'),
  ContainerRuntimeMissing: reason('Refused', 'containerd is not installed.'),
  ContainerRuntimeUnsupported: reason('Refused', 'The containerd found is of an unsupported version.'),
  ContainerdTooOld: reason('Refused', 'The containerd found is too old for a field of the document.'),
  ContainerdSnapshotterMissing: reason(
    'Refused',
    'The containerd found does not have the snapshotter that is asked for.',
  ),
  ContainerdRuntimeMissing: reason('Refused', 'The program of a runtime of containerd is not installed.'),
  ContainerdBaseSpecMissing: reason('Refused', 'The base specification of a runtime does not exist.'),
  RegistryCertificateInvalid: reason(
    'Refused',
    'A certificate of an image registry cannot be read, is none, has expired, or does not fit its key.',
  ),
  KubeadmNotInstalled: reason('Refused', 'kubeadm is not installed.'),
  KubeadmUnsupported: reason('Refused', 'The kubeadm found is of an unsupported version.'),
  ExecBootstrapperMissing: reason('Refused', 'The program that bootstraps in the place of kubeadm is not installed.'),
  MountInTheWay: reason('Refused', "A file system that is not the node's lies below what a reset deletes."),
  ResetFailed: reason('HostStepFailed', 'A reset could not take away what machineadm made.'),
  KubeletNotInstalled: reason('Refused', 'The kubelet is not installed.'),
  ProxyInvalid: reason('Refused', 'The URL of a proxy is malformed, or its credentials would lie open.'),
  CertificateAuthorityInvalid: reason('Refused', 'A certificate authority to be trusted is none, damaged or expired.'),
  NotExpressible: reason('Refused', 'The kubeadm found cannot express a field of the document.'),
  SecretInImage: reason('Refused', 'A document for an image would put a secret into it.'),
  InstanceInImage: reason('Refused', 'A document for an image would put into it what belongs to one machine.'),
  ImageNotReady: reason('DifferencesFound', 'A machine that is to become an image is not what it should be.'),
  ContractBroken: reason('DifferencesFound', 'A machine or an image does not keep the contract of machineadm.'),
  SecretUnavailable: reason('Refused', 'A secret reference could not be resolved.'),
  MetadataUnavailable: reason('Refused', 'A variable comes from a metadata service that does not answer.'),

  // Host steps.
  HostStepFailed: reason('HostStepFailed', 'A host step failed for a cause that has no name of its own.'),
  StepNotEffective: reason('HostStepFailed', 'A change was made but does not hold when read back.'),
  DiskFull: reason('HostStepFailed', 'No space or no inodes are left on the file system written to.'),
  ReadOnlyFilesystem: reason('HostStepFailed', 'A path that must be written lies on a read-only file system.'),
  HooksUnreadable: reason('HostStepFailed', 'The hooks that were left for every boot cannot be read.'),
  HookFailed: reason('HostStepFailed', 'A command of a hook failed; the entry is named.'),
  HookTimedOut: reason('HostStepFailed', 'A hook did not end within its timeout; its process group was killed.'),
  HostnameNotEffective: reason('HostStepFailed', 'The host name could not be set.'),
  ModuleMissing: reason('HostStepFailed', 'A kernel module is neither loaded, built in nor loadable.'),
  ModuleDenied: reason('HostStepFailed', 'A kernel module is denied by the modprobe configuration.'),
  SysctlUnknown: reason('HostStepFailed', 'A sysctl key does not exist in this kernel.'),
  SysctlReadOnly: reason('HostStepFailed', 'A sysctl key cannot be written here.'),
  SysctlInvalidValue: reason('HostStepFailed', 'The kernel refused a sysctl value.'),
  SysctlNotEffective: reason('HostStepFailed', 'A sysctl does not hold the value that was written.'),
  SwapNotDisabled: reason('HostStepFailed', 'Swap is still active.'),
  StorageToolMissing: reason('Refused', 'A program that partitions, formats or mounts is not installed.'),
  DeviceMissing: reason('HostStepFailed', 'A block device of the document did not appear in time.'),
  DeviceAmbiguous: reason('HostStepFailed', 'Several block devices answer to a serial or label of the document.'),
  DeviceBusy: reason('HostStepFailed', 'A block device that must be written is in use.'),
  DiskNotEmpty: reason(
    'HostStepFailed',
    'A disk holds something else than the document describes, and may not be wiped.',
  ),
  DiskTooSmall: reason('HostStepFailed', 'The partitions of the document do not fit on the disk.'),
  PartitioningFailed: reason(
    'HostStepFailed',
    'A partition table could not be written, or the kernel does not show it.',
  ),
  FilesystemDiffers: reason(
    'HostStepFailed',
    'A device holds something else than the document describes, and may not be formatted.',
  ),
  FilesystemNotMade: reason('HostStepFailed', 'A file system could not be made.'),
  MountConflict: reason('HostStepFailed', 'Something else is mounted, listed in fstab or lies where a mount belongs.'),
  MountFailed: reason('HostStepFailed', 'A file system could not be mounted, or swap not switched on.'),
  FileOwnerUnknown: reason('HostStepFailed', 'The owner of a file does not exist on this machine.'),
  FileNotWritten: reason('HostStepFailed', 'A file could not be written.'),
  DownloadFailed: reason('HostStepFailed', 'A file could not be downloaded, or is not the one that its digest names.'),
  HTTPRequestFailed: reason('HostStepFailed', 'A server that the agent itself asked gave no whole answer.'),
  CertificateAuthorityNotTrusted: reason(
    'HostStepFailed',
    'The trust store of the operating system does not hold a certificate authority that was added to it.',
  ),
  ServiceFailed: reason('HostStepFailed', 'A system service could not be started, stopped or restarted.'),
  ServiceMissing: reason('HostStepFailed', 'A service that the document names is not installed.'),
  ServiceMasked: reason('HostStepFailed', 'A service that the document wants to run is masked.'),
  ServiceUnsupported: reason(
    'HostStepFailed',
    'The service manager of this machine cannot do what is asked of a service.',
  ),
  AccountConflict: reason('HostStepFailed', 'A user or group exists with another id or home, or its id is taken.'),
  AccountToolMissing: reason('HostStepFailed', 'A program that changes users and groups is not installed.'),
  AccountNotChanged: reason('HostStepFailed', 'A user or group could not be created or changed.'),
  PasswordHashInvalid: reason('HostStepFailed', 'What was given as the hash of a password is none.'),
  AuthorizedKeysNotWritten: reason('HostStepFailed', 'The SSH keys of a user could not be put in place safely.'),
  SudoMissing: reason('HostStepFailed', 'The document grants sudo, which is not installed.'),
  SudoersInvalid: reason('HostStepFailed', 'sudo would refuse or ignore a rule of the document.'),
  TimeServiceMissing: reason('HostStepFailed', 'No time service is installed, and none is downloaded.'),
  ClockNotSynchronized: reason('HostStepFailed', 'The clock was not proven right in time.'),
  ContainerdConfigSyntax: reason('HostStepFailed', 'containerd refused its configuration file.'),
  ContainerdConfigUnknownKey: reason('HostStepFailed', 'containerd does not know a key of its configuration.'),
  ContainerdConfigNotEffective: reason('HostStepFailed', 'containerd does not use a configured value.'),
  ContainerdConfigWrongType: reason(
    'HostStepFailed',
    'A value in the configuration of containerd has a type with which no pod would start.',
  ),
  ContainerdRegistryConflict: reason(
    'HostStepFailed',
    'Registries of containerd are configured in the old way and by hosts.toml, which exclude each other.',
  ),
  ContainerdRuntimeUndefined: reason('HostStepFailed', 'The default runtime of containerd is not among its runtimes.'),
  ContainerdUnhealthy: reason('HostStepFailed', 'containerd does not answer CRI calls or reports itself not ready.'),
  ImageArchiveUnreadable: reason('HostStepFailed', 'An image archive is missing, damaged or of another digest.'),
  ImageMissing: reason('HostStepFailed', 'An image that the document requires is not present.'),
  KMSSocketMissing: reason('HostStepFailed', 'The KMS plugin that encrypts at rest does not listen on its socket.'),
  EncryptionKeyNeeded: reason(
    'HostStepFailed',
    'The new encryption configuration could not read what is in etcd by now.',
  ),
  PKIInvalid: reason('HostStepFailed', 'A certificate or key of the document cannot be used.'),

  // The bootstrapper.
  BootstrapperFailed: reason('BootstrapperFailed', 'kubeadm failed for a cause the catalogue does not know.'),
  KubeadmConfigInvalid: reason('BootstrapperFailed', 'kubeadm refused its configuration.'),
  LeftoverOfAnotherCluster: reason('Refused', 'Kubernetes files that this machineadm did not create are on the host.'),

  // kubeadm's preflight checks.
  InsufficientCPU: bootstrapper('The machine has fewer CPUs than a control plane needs.'),
  InsufficientMemory: bootstrapper('The machine has less memory than a control plane needs.'),
  KubeletAlreadyRunning: bootstrapper('A kubelet of an earlier attempt is still running.'),
  PortInUse: bootstrapper('A port that Kubernetes needs is held by another process.'),
  StaticPodManifestExists: bootstrapper('Static pod manifests of an earlier attempt are on the machine.'),
  NodeAlreadyJoined: bootstrapper('The machine already holds the kubelet credentials of an earlier join.'),
  BootstrapKubeconfigExists: bootstrapper('An earlier join was killed and left its bootstrap kubeconfig behind.'),
  CACertificateExists: bootstrapper('A worker found a cluster CA certificate on its disk before it joined.'),
  PreflightFileExists: bootstrapper('A file that kubeadm must create exists already.'),
  EtcdDataDirNotEmpty: bootstrapper('The etcd data directory is not empty.'),
  ManifestsDirNotEmpty: bootstrapper('The static pod directory is not empty and this kubeadm insists on it.'),
  BrNetfilterNotLoaded: bootstrapper('The br_netfilter module is not loaded, or bridged traffic bypasses iptables.'),
  IPForwardDisabled: bootstrapper('The kernel does not forward IP packets.'),
  MissingExecutable: bootstrapper('A program that kubeadm needs is not installed.'),
  CgroupV1Unsupported: bootstrapper('The machine runs cgroup v1, which this kubelet refuses.'),
  RequiredCgroupsMissing: bootstrapper('A cgroup controller that the kubelet needs is not enabled.'),
  KernelConfigUnsupported: bootstrapper('The kernel or operating system fails the checks for Kubernetes.'),
  KubeletVersionTooOld: bootstrapper('The kubelet is older than kubeadm supports.'),
  KubeletVersionTooNew: bootstrapper('The kubelet is newer than the control plane.'),
  SwapEnabled: bootstrapper('Swap is on and the kubelet is not configured for it.'),
  ExternalEtcdVersionUnsupported: bootstrapper('The external etcd is older than kubeadm supports.'),
  ExternalEtcdUnreachable: bootstrapper('The external etcd does not answer.'),
  ExternalEtcdCertMissing: bootstrapper('A certificate file of the external etcd does not exist.'),

  ExecBootstrapperFailed: bootstrapper('The program that bootstraps in the place of kubeadm failed.'),

  // kubeadm's configuration.
  KubeadmAPIVersionRemoved: bootstrapper(
    'The kubeadm configuration has an API version that this kubeadm no longer reads.',
  ),
  KubeadmAPIVersionDeprecated: bootstrapper('The kubeadm configuration has a deprecated API version.'),
  KubeadmAPIVersionExperimental: bootstrapper('The kubeadm configuration has an experimental API version.'),
  KubeadmAPIVersionUnknown: bootstrapper('The kubeadm configuration has an API version newer than this kubeadm.'),
  ClusterConfigurationVersionUnsupported: bootstrapper('The cluster was written by a newer kubeadm than this one.'),
  KubeadmConfigUnknownField: bootstrapper(
    'A field of the kubeadm configuration is unknown to this kubeadm and ignored.',
  ),
  KubeadmConfigTypeMismatch: bootstrapper('A field of the kubeadm configuration has the wrong type.'),
  KubeadmConfigSyntaxInvalid: bootstrapper('The kubeadm configuration is not valid YAML.'),
  KubeadmConfigKindMissing: bootstrapper('The kubeadm configuration lacks the kind that the command needs.'),
  KubeadmConfigDuplicateKind: bootstrapper('The kubeadm configuration holds the same kind twice.'),
  KubeadmConfigFileMissing: bootstrapper('The kubeadm configuration file cannot be read.'),
  KubeadmFlagConflict: bootstrapper('A kubeadm flag was combined with --config and must not be.'),
  CACertHashRequired: bootstrapper('Token discovery has no CA certificate hash to pin the cluster with.'),
  DiscoveryFileInvalid: bootstrapper('The discovery file is neither a file on disk nor an https URL.'),
  NodeNameInvalid: bootstrapper('The node name is not a valid DNS name.'),
  UnknownKubeadmPhase: bootstrapper('A skipped phase does not exist in this kubeadm.'),
  UnknownKubeadmFeatureGate: bootstrapper('A kubeadm feature gate does not exist in this version.'),
  VersionLookupOffline: bootstrapper('kubeadm tried to look a version up on the internet and could not.'),
  ControlPlaneVersionTooOld: bootstrapper('The Kubernetes version is older than this kubeadm deploys.'),
  KubeadmPatchFailed: bootstrapper('A kubeadm patch could not be applied.'),
  AdvertiseAddressInvalid: bootstrapper('The advertise address cannot be used by an API server.'),
  AdvertiseAddressNotLocal: bootstrapper('A configured address is on no interface of this machine.'),
  NoDefaultRoute: bootstrapper('The machine has no default route, so no address could be chosen.'),

  // The container runtime and images.
  ContainerRuntimeNotReady: bootstrapper('The container runtime answers but says that it is not ready.'),
  ContainerRuntimeNotRunning: bootstrapper('The container runtime does not run or its socket cannot be reached.'),
  CRISocketWrong: bootstrapper('The configured CRI socket is not the one of the running container runtime.'),
  CRIv1Unimplemented: bootstrapper('The container runtime does not offer the CRI v1 API.'),
  MultipleCRISockets: bootstrapper('Several container runtimes are installed and none was chosen.'),
  ContainerRuntimeTooOld: bootstrapper('The container runtime is too old for a coming Kubernetes version.'),
  ContainerdConfigInvalid: bootstrapper('containerd cannot read its configuration file.'),
  ContainerdCRIPluginFailed: bootstrapper('containerd runs, but its CRI plugin did not load.'),
  CgroupDriverMismatch: bootstrapper('The kubelet and the container runtime use different cgroup drivers.'),
  SandboxImageUnavailable: bootstrapper('The sandbox (pause) image of the container runtime is not available.'),
  SandboxImageMismatch: bootstrapper('The container runtime uses another sandbox image than kubeadm.'),
  OCIRuntimeMissing: bootstrapper('runc or crun is not installed.'),
  OCIRuntimeCreateFailed: bootstrapper('The OCI runtime (runc) could not create a container.'),
  ImagePullDNSFailure: bootstrapper('The name of an image registry could not be resolved.'),
  ImageRegistryUnreachable: bootstrapper('An image registry could not be reached.'),
  ImageRegistryTLSUntrusted: bootstrapper('The certificate of an image registry is not trusted.'),
  ImagePullRateLimited: bootstrapper('An image registry refused a pull because of its rate limit.'),
  ImagePullUnauthorized: bootstrapper('An image registry refused a pull for lack of credentials.'),
  ImageNotFound: bootstrapper('An image does not exist in its registry.'),
  ImageRegistryPlainHTTP: bootstrapper('An image registry speaks plain HTTP where HTTPS was expected.'),
  ImagePlatformMismatch: bootstrapper("An image does not exist for this machine's architecture."),
  ProxyConnectFailed: bootstrapper('The HTTP proxy could not be reached or refused the connection.'),
  ImagePullFailed: bootstrapper('An image could not be pulled.'),

  // Discovery of the cluster.
  APIEndpointDNSFailure: bootstrapper('The name of the API endpoint could not be resolved.'),
  APIEndpointConnectionRefused: bootstrapper('Nothing listens on the API endpoint.'),
  APIEndpointTimeout: bootstrapper('The API endpoint does not answer.'),
  APIEndpointLoadBalancerUnhealthy: bootstrapper(
    'The load balancer of the API endpoint has no healthy server behind it.',
  ),
  APIEndpointUsesProxy: bootstrapper('The API endpoint is reached through an HTTP proxy.'),
  APIServerUnavailable: bootstrapper('The API server answers that it cannot serve requests.'),
  APIServerUnstable: bootstrapper('The API server came up and went away again.'),
  APIServerCertUntrusted: bootstrapper("The API server's certificate is signed by another CA."),
  APIServerCertSANMismatch: bootstrapper("The API server's certificate does not name the endpoint."),
  BootstrapTokenMalformed: bootstrapper('A bootstrap token does not have the form of one.'),
  BootstrapTokenNotFound: bootstrapper('The cluster does not know the bootstrap token, or it expired.'),
  BootstrapTokenExpired: bootstrapper('The bootstrap token expired.'),
  BootstrapTokenSecretMismatch: bootstrapper(
    'The secret half of the bootstrap token is wrong, or another cluster answered.',
  ),
  BootstrapTokenUnauthorized: bootstrapper('The API server does not accept the bootstrap token for authentication.'),
  CACertHashMismatch: bootstrapper('The cluster that answered is not the one that the document pins by its CA.'),
  CACertHashMalformed: bootstrapper('A CA certificate hash does not have the form of one.'),
  ClusterInfoForbidden: bootstrapper('The cluster does not let a joining node read cluster-info.'),
  ClusterInfoNotFound: bootstrapper('The cluster has no cluster-info yet.'),
  KubeadmConfigForbidden: bootstrapper("The cluster does not let a joining node read kubeadm's configuration."),
  KubeadmConfigMapMissing: bootstrapper('The cluster has no kubeadm-config.'),
  KubeletConfigMapMissing: bootstrapper('The cluster has no kubelet configuration for joining nodes.'),
  ControlPlaneEndpointMissing: bootstrapper(
    'The cluster has no stable control-plane endpoint, so no control plane can be added.',
  ),
  ClockSkew: bootstrapper('The clock of this machine is behind: a certificate is not valid yet.'),
  HostnameUnresolvable: bootstrapper('The host name of this machine cannot be resolved.'),
  FirewalldActive: bootstrapper('firewalld is active and may block Kubernetes ports.'),

  // Certificates and leftovers of another cluster.
  CertificateExpired: bootstrapper('A certificate expired.'),
  CertificateUnreadable: bootstrapper('A certificate or key file is damaged.'),
  SharedCertificatesMissing: bootstrapper(
    'A control plane joins without the certificates that all control planes share.',
  ),
  CertificateKeySecretExpired: bootstrapper('The uploaded control-plane certificates expired or were never uploaded.'),
  CertificateSecretForbidden: bootstrapper(
    'The cluster does not let a joining control plane read the uploaded certificates.',
  ),
  CertificateKeyMismatch: bootstrapper('The certificate key is not the one the certificates were uploaded with.'),
  CertificateKeyMalformed: bootstrapper('The certificate key is not 64 hexadecimal digits.'),
  CertificateSecretIncomplete: bootstrapper('The uploaded control-plane certificates lack one that this node needs.'),
  StaleKubeconfig: bootstrapper('A kubeconfig on this machine belongs to another CA.'),
  StaleCertificates: bootstrapper('A certificate on this machine belongs to another CA or lacks a configured name.'),

  // The kubelet and this machine's Node.
  KubeletServiceMissing: bootstrapper('The kubelet has no systemd unit, or it is masked.'),
  KubeletServiceNotEnabled: bootstrapper('The kubelet service is not enabled.'),
  KubeletStartLimitHit: bootstrapper('systemd gave up starting the kubelet.'),
  KubeletUnknownFlag: bootstrapper('The kubelet does not know a flag that it was given.'),
  KubeletConfigInvalid: bootstrapper('The kubelet refuses its configuration file.'),
  KubeletConfigUnknownField: bootstrapper('The kubelet ignores a field of its configuration that it does not know.'),
  UnrecognizedFeatureGate: bootstrapper('A component does not know a feature gate that it was given.'),
  KernelDefaultsMismatch: bootstrapper("The kubelet refuses the kernel's settings (protectKernelDefaults)."),
  ContainerManagerFailed: bootstrapper('The kubelet could not set up its cgroups.'),
  NodeIPNotFound: bootstrapper('The configured node address is on no interface of this machine.'),
  ResolvConfMissing: bootstrapper('The resolver file that the kubelet was given does not exist.'),
  BootstrapKubeconfigMissing: bootstrapper('The kubelet has neither its credentials nor a bootstrap kubeconfig.'),
  CSRForbidden: bootstrapper('The cluster does not let the kubelet ask for its certificate.'),
  TLSBootstrapTimeout: bootstrapper('The kubelet did not get its client certificate in time.'),
  NodeRegistrationTimeout: bootstrapper('The kubelet did not register its Node in time.'),
  NodeNameConflict: bootstrapper('A Ready Node of this name already exists in the cluster.'),
  NodeGetForbidden: bootstrapper('The cluster does not let a joining node read its Node.'),
  APIServerUnreachableFromKubelet: bootstrapper('The kubelet cannot reach the API server.'),
  NodeDiskPressure: bootstrapper('The kubelet evicts pods because the disk is nearly full.'),
  NodeMemoryPressure: bootstrapper('The kubelet evicts pods because memory is nearly exhausted.'),

  // The control plane's static pods.
  ControlPlaneComponentNotHealthy: bootstrapper('A component of the control plane did not become healthy.'),
  StaticPodManifestInvalid: bootstrapper('The static pod directory holds a file that is not a pod.'),
  StaticPodCrashLoop: bootstrapper('A component of the control plane ends again and again.'),
  StaticPodImagePullFailed: bootstrapper('The image of a static pod could not be pulled.'),
  StaticPodInsufficientResources: bootstrapper('The machine has too few resources left for a static pod.'),
  HostPathTypeMismatch: bootstrapper('A file that a static pod mounts does not exist or is of another type.'),
  ComponentUnknownFlag: bootstrapper('A component of the control plane does not know a flag that it was given.'),
  ComponentFileMissing: bootstrapper('A component of the control plane cannot open a file that it was given.'),
  AuditPolicyFileMissing: bootstrapper("The API server's audit policy file cannot be read."),
  AuditPolicyInvalid: bootstrapper('The API server refuses its audit policy.'),
  EncryptionConfigInvalid: bootstrapper('The API server refuses its encryption configuration.'),
  APIServerNotReconfigured: bootstrapper(
    'The API server did not come up with a changed configuration; the one before is back.',
  ),
  AdminBootstrapFailed: bootstrapper('kubeadm could not grant its administrator rights in the new cluster.'),

  // etcd.
  EtcdUnreachableFromAPIServer: bootstrapper('The API server cannot reach etcd.'),
  EtcdClusterUnhealthy: bootstrapper('A member of the etcd cluster does not answer.'),
  EtcdEndpointsUnknown: bootstrapper('The endpoints of the etcd cluster could not be found.'),
  EtcdPeerUnreachable: bootstrapper('The new etcd member cannot reach the others on the peer port.'),
  EtcdPeerTLSRejected: bootstrapper("etcd members do not trust each other's certificates."),
  EtcdLearnerNotInSync: bootstrapper('The new etcd member did not catch up with the leader in time.'),
  EtcdMemberNotStarted: bootstrapper('The new etcd member never started.'),
  EtcdLearnerAlreadyPromoted: bootstrapper('The new etcd member was promoted, but kubeadm took it for a failure.'),
  EtcdMemberAlreadyExists: bootstrapper('An earlier attempt left its member in the etcd cluster.'),
  EtcdConcurrentJoin: bootstrapper('Another control plane is joining etcd at the same time.'),
  EtcdNotEnoughStartedMembers: bootstrapper('A member added to etcd earlier has not started.'),
  EtcdNoLeader: bootstrapper('etcd has no leader or answers too slowly.'),
  EtcdClusterNotAvailable: bootstrapper('etcd did not become available after the member was added.'),
  EtcdDatabaseSpaceExceeded: bootstrapper('The etcd database is full.'),
  EtcdMemberListMismatch: bootstrapper("The new etcd member's list of members differs from the cluster's."),
  EtcdMemberRemoved: bootstrapper('The etcd data directory belongs to a member that was removed.'),
  EtcdClusterIDMismatch: bootstrapper('The etcd data directory belongs to another cluster.'),
  EtcdSlowDisk: bootstrapper('The disk is too slow for etcd.'),

  // The machine under it all.
  OutOfMemory: bootstrapper('The kernel killed a process for lack of memory.'),
  ExecutionDenied: bootstrapper('The operating system refused to execute a program.'),
  SELinuxDenied: bootstrapper('SELinux denied access that Kubernetes needs.'),

  // Hardening.
  HardeningNotEffective: bootstrapper('What a hardening profile asks for was set, but does not hold.'),
  HardenedComponentFailed: bootstrapper(
    'A component did not come back with a hardened setting; its manifest was put back.',
  ),
  NotANode: reason('Refused', 'This machine is no node of a cluster that kubeadm made.'),

  // Readiness.
  SuccessTestFailed: reason('NotReady', 'The success test of the bootstrapper does not pass.'),
  KubeletNotHealthy: reason('NotReady', 'The kubelet does not answer its health endpoint.'),
  NodeNotRegistered: reason('NotReady', 'The API server has no Node object of this machine.'),
  NodeIdentityMismatch: reason('NotReady', 'A Node of this name exists but belongs to another machine.'),
  NodeNotReady: reason('NotReady', 'The Node is registered but not Ready.'),

  // Where machineadm itself and its releases come from.
  DownloadInvalid: reason('Usage', 'What a download is verified by, or where it comes from, is malformed or missing.'),
  TrustedKeyInvalid: reason('Refused', 'A key to verify releases with cannot be used, or there is none.'),
  ReleaseUnavailable: reason('Refused', 'No location gave a whole answer.'),
  ReleaseManifestInvalid: reason('VerificationRefused', 'The list or the manifest of a release is not one.'),
  SignatureInvalid: reason('VerificationRefused', 'A signature was made by none of the trusted keys over these bytes.'),
  SigningKeyRevoked: reason('VerificationRefused', 'A signature is right, but its key was revoked.'),
  DigestMismatch: reason('VerificationRefused', 'A file is not the one whose digest is known.'),
  ReleaseVersionMismatch: reason('VerificationRefused', 'A signed release is not of the version that was asked for.'),
  ReleaseTooOld: reason('VerificationRefused', 'A signed release is older than the oldest that is still allowed.'),
  WebPageReceived: reason('VerificationRefused', 'A web page came instead of a file: a portal or a login answers.'),
  RedirectRefused: reason('VerificationRefused', 'A server leads from https to http.'),
  VerifiedFileChanged: reason('VerificationRefused', 'A file is not any more what it was when it was verified.'),

  // Ends of a run.
  DeadlinePassed: reason('DeadlinePassed', 'The deadline of the step or of the whole run passed.'),
  Interrupted: reason('Interrupted', 'The run was ended by a signal or killed.'),
  AfterBootstrapHookFailed: reason('AfterHookFailed', 'The node works, but an afterBootstrap hook failed.'),
  RebootRequired: reason('RebootRequired', 'A reboot is required and the document does not allow one.'),
  InternalError: reason('InternalError', 'A defect in machineadm.'),
} as const satisfies Record<string, ReasonEntry>;

export interface ReasonEntry {
  readonly exit: ExitName;
  readonly meaning: string;
}

export type Reason = keyof typeof REASONS;

function reason(exit: ExitName, meaning: string): ReasonEntry {
  return { exit, meaning };
}

/** A cause the catalogue can name when the bootstrapper fails (`src/diagnosis/catalogue`). */
function bootstrapper(meaning: string): ReasonEntry {
  return reason('BootstrapperFailed', meaning);
}
