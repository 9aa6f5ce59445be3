import type { ExitName } from './exit-codes.ts';

/**
 * The stable reasons with which a run can end or wait: CamelCase, never renamed, renumbered or reused
 * (`test/unit/document/outcomes/reasons.test.ts` guards the list). Each has its exit code and its meaning; `contract/reasons.md`
 * is generated from here. The exit code is the usual one: a failure may have another if the same cause appears in
 * another phase (a KubeletNotHealthy under kubeadm exits with its code).
 */
export const REASONS = {
  // Before any change.
  DocumentNotFound: reason(
    'DocumentInvalid',
    'The document source does not exist or cannot be read.',
    'Correct the path of the document, or its permissions.',
  ),
  DocumentInvalid: reason('DocumentInvalid', 'The document has mistakes; each is listed with its place and remedy.'),
  DocumentTooLarge: reason(
    'DocumentInvalid',
    'The document is larger than the limit of 4 MiB.',
    'Take large content from a file or a URL with contentFrom.',
  ),
  DocumentNotTrusted: reason(
    'Refused',
    'Users other than root and the caller can change the document, its directory, or a file from which it takes a secret.',
    'Make root the owner of the file and its directory, and remove write permission for others.',
  ),
  SecretReadableByAll: reason(
    'Refused',
    'A document that every user can read contains the value of a secret.',
    'Run chmod 600 on the document, or replace the value with a reference.',
  ),
  UserDataTooLarge: reason(
    'DocumentInvalid',
    'The user data is larger than the provider accepts.',
    'Wrap a document that is downloaded with --fetch, or take large content from a URL.',
  ),
  RequiresNewerAgent: reason(
    'DocumentInvalid',
    'The document requires a newer machineadm, or a feature that this version does not have.',
    'Install a newer machineadm, or change requires.',
  ),
  UnsupportedOnPlatform: reason(
    'DocumentInvalid',
    'The document uses a field that this platform does not support.',
    'Remove the fields that the message names, or correct host.platform.',
  ),
  UsageInvalid: reason('Usage', 'The command line is wrong.', 'Run machineadm COMMAND --help.'),
  NoRun: reason('Refused', 'machineadm has not run on this machine yet.', 'Run machineadm provision first.'),
  LogUnreadable: reason(
    'DocumentInvalid',
    'A log to diagnose cannot be read.',
    'Correct the path of the log, or its permissions.',
  ),
  NotPrivilegedUser: reason('Refused', 'machineadm was not started as root.'),
  Locked: reason(
    'Refused',
    'Another machineadm run is active on this machine.',
    'Wait until the other run ends: machineadm status --wait.',
  ),
  DocumentConflict: reason(
    'Refused',
    'The document contradicts another document that was applied to this machine.',
    'Ask for the same in both documents, keep it in one of them, or reset the other document.',
  ),
  DocumentChanged: reason(
    'Refused',
    'The kubernetes section changed after this machine was bootstrapped.',
    'If only kubernetes.version, kubernetes.node.kubelet, or arguments of the control plane changed, run machineadm upgrade. Otherwise provision with the previous kubernetes section. To give the node up, look at machineadm reset --dry-run, then run machineadm reset.',
  ),
  UpgradeUnfinished: reason(
    'Refused',
    'An upgrade of this node was begun and did not end.',
    'Run machineadm upgrade with the document of that upgrade: it continues.',
  ),
  UpgradeVersionSkew: reason(
    'Refused',
    'The upgrade would break the version skew policy of Kubernetes, or its order: control planes first, one minor version at a time.',
    'Upgrade to the next minor version first, and the control planes before the workers.',
  ),
  UpgradeProgramMissing: reason(
    'Refused',
    'kubeadm or the kubelet of the new version is not installed.',
    "Let the document's files, archives or hooks install it, or install it with the package manager.",
  ),
  UpgradeLocked: reason(
    'Refused',
    'Another control plane of this cluster is being upgraded.',
    'Wait until it has ended. If that machine no longer exists, delete the Lease that the message names.',
  ),
  EtcdQuorumAtRisk: reason(
    'Refused',
    'etcd would lose its quorum, or is not healthy, while the member of this machine restarts.',
    'Restore the other members first: kubectl -n kube-system get pods -l component=etcd.',
  ),
  ControlPlaneEdited: reason(
    'Refused',
    'A static pod was edited by hand: kubeadm upgrade would undo that.',
    'Record the edit in the ConfigMap kubeadm-config or as a patch of kubeadm, or let the upgrade undo it with --overwrite-manifests.',
  ),
  DrainNotPossible: reason(
    'Refused',
    'Pods of this node cannot be evicted, or this machine has no right to evict them.',
    'Drain the node from elsewhere (kubectl drain), and run machineadm upgrade with --drained.',
  ),
  JournalUnreadable: reason(
    'Refused',
    'The journal of an earlier run is damaged and cannot be trusted.',
    'Find out what damaged the journal. Look at machineadm reset --dry-run, then reset the machine and provision it again.',
  ),
  StatusUnreadable: reason(
    'Refused',
    'The status file is damaged or was not written by machineadm.',
    'Remove the file; the next run writes it again.',
  ),
  PreflightFailed: reason('Refused', 'Requirements of the steps are missing; all of them are listed.'),
  ContainerRuntimeMissing: reason(
    'Refused',
    'containerd is not installed.',
    'Install containerd in the image or in an early hook.',
  ),
  ContainerRuntimeUnsupported: reason(
    'Refused',
    'The installed version of containerd is not supported.',
    'Install a supported version of containerd.',
  ),
  ContainerdTooOld: reason('Refused', 'The installed containerd is too old for a field of the document.'),
  ContainerdSnapshotterMissing: reason('Refused', 'The installed containerd does not have the requested snapshotter.'),
  ContainerdRuntimeMissing: reason('Refused', 'The program of a containerd runtime is not installed.'),
  ContainerdBaseSpecMissing: reason('Refused', 'The base specification of a runtime does not exist.'),
  ContainerdCdiSpecMissing: reason(
    'Refused',
    'There is no CDI specification for the devices that a runtime passes to containers.',
    'Generate the CDI specification, for example with nvidia-ctk, before the run.',
  ),
  RegistryCertificateInvalid: reason(
    'Refused',
    'A certificate of an image registry is unreadable, invalid, expired, or does not match its key.',
  ),
  KubeadmNotInstalled: reason('Refused', 'kubeadm is not installed.'),
  KubeadmUnsupported: reason(
    'Refused',
    'The installed version of kubeadm is not supported.',
    'Install kubeadm with the minor version of kubernetes.version.',
  ),
  ExecBootstrapperMissing: reason(
    'Refused',
    'The program that replaces kubeadm is not installed.',
    'Install the program of kubernetes.bootstrapper.exec.command.',
  ),
  MountInTheWay: reason(
    'Refused',
    'A file system that does not belong to the node is mounted below a directory that a reset deletes.',
    'Unmount the file system, then run the reset again.',
  ),
  ResetFailed: reason('HostStepFailed', 'A reset could not remove everything that machineadm created.'),
  KubeletNotInstalled: reason('Refused', 'The kubelet is not installed.'),
  ProgramNotExecutable: reason(
    'Refused',
    'A program is installed but cannot be executed: its file is empty, damaged, truncated or for another machine.',
  ),
  ProxyInvalid: reason(
    'Refused',
    'The URL of a proxy is malformed, or its credentials would be readable by other users.',
    'Correct host.proxy. If its URL has a password, remove environment from host.proxy.for.',
  ),
  CertificateAuthorityInvalid: reason(
    'Refused',
    'A certificate authority of the document is invalid, damaged or expired.',
    'Replace the certificate in host.certificateAuthorities.',
  ),
  NotExpressible: reason(
    'Refused',
    'The installed kubeadm has no setting for a field of the document.',
    'Install a newer kubeadm, or remove the fields that the message names.',
  ),
  PathClaimedTwice: reason('Refused', 'Two parts of the document manage the same path of this machine.'),
  SecretInImage: reason(
    'Refused',
    'A document for an image would store a secret in the image.',
    'Remove the secret from the document for the image.',
  ),
  InstanceInImage: reason(
    'Refused',
    'A document for an image would store data of a single machine in the image.',
    'Remove the data of a single machine from the document for the image.',
  ),
  ImageNotReady: reason(
    'DifferencesFound',
    'A machine does not meet the requirements for an image.',
    'Correct each finding, then run the check again.',
  ),
  ContractBroken: reason(
    'DifferencesFound',
    'A machine or an image does not fulfil the contract of machineadm.',
    'Correct each clause that the report names.',
  ),
  ContractNotProven: reason(
    'NotProven',
    'No clause of the contract is violated, but a required clause could not be checked.',
    'Run the check as root, or on a running machine.',
  ),
  SecretUnavailable: reason('Refused', 'A secret reference could not be resolved.'),
  MetadataUnavailable: reason('Refused', 'A variable comes from a metadata service that does not answer.'),

  // Host steps.
  HostStepFailed: reason('HostStepFailed', 'A host step failed, and no more specific reason applies.'),
  CommandKilled: reason('HostStepFailed', 'A program that machineadm ran was killed by a signal.'),
  StepNotEffective: reason('HostStepFailed', 'A change was made, but reading it back shows another state.'),
  StepUndone: reason(
    'HostStepFailed',
    'The result of a step was changed before the run ended, by another step, a hook or another program.',
  ),
  ResumptionNotArranged: reason(
    'HostStepFailed',
    'The task that resumes the run after a reboot could not be registered or removed.',
  ),
  RebootNotEffective: reason('HostStepFailed', 'A change is not effective, although the machine was rebooted for it.'),
  DiskFull: reason('HostStepFailed', 'No space or no inodes are left on the file system written to.'),
  ReadOnlyFilesystem: reason('HostStepFailed', 'A path that must be written is on a read-only file system.'),
  HooksUnreadable: reason('HostStepFailed', 'The stored hooks for every boot cannot be read.'),
  HookFailed: reason('HostStepFailed', 'A command of a hook failed; the entry is named.'),
  RequiredUnitNotStarted: reason(
    'HostStepFailed',
    'A unit that the drop-ins of kubeadm.service require did not start in time.',
  ),
  EnvironmentFileMissing: reason(
    'HostStepFailed',
    'An environment file that the drop-ins of kubeadm.service name does not exist.',
  ),
  HookTimedOut: reason('HostStepFailed', 'A hook did not end within its timeout; its process group was killed.'),
  NodeAddressMissing: reason(
    'HostStepFailed',
    'No address of this machine fits kubernetes.node.addresses.',
    'Give the interface its address, correct kubernetes.node.addresses, or raise its timeout.',
  ),
  NodeAddressAmbiguous: reason(
    'HostStepFailed',
    'Several addresses of this machine fit kubernetes.node.addresses.',
    'Add the subnet of the right address to kubernetes.node.addresses.subnets.',
  ),
  HostnameNotEffective: reason('HostStepFailed', 'The host name could not be set.'),
  TimezoneUnknown: reason(
    'Refused',
    'A time zone is not in the time zone database of this machine.',
    'Correct host.timezone, or install tzdata.',
  ),
  NetworkToolMissing: reason(
    'Refused',
    'The tool that reads the network configuration is not installed or does not run.',
    'Install the tool, or correct host.network.tool.',
  ),
  NetworkInvalid: reason(
    'Refused',
    'The tool of the network refuses a configuration file of the document.',
    'Correct the file at the line in the message.',
  ),
  NetworkNotApplied: reason(
    'HostStepFailed',
    'A network configuration could not be applied. The previous files were restored.',
  ),
  NetworkLost: reason(
    'HostStepFailed',
    'The default route or the named endpoint was lost with a new network configuration. The previous files were restored.',
  ),
  SecurityModuleMissing: reason(
    'Refused',
    'SELinux or AppArmor is not enabled in the kernel, or a tool of it is not installed.',
    'Enable the module in the kernel, or install its tools.',
  ),
  SecurityPolicyInvalid: reason(
    'Refused',
    'The policy of this machine does not have a boolean, or its parser refuses a profile.',
    'Correct the boolean or the profile in the document.',
  ),
  ModuleMissing: reason('HostStepFailed', 'A kernel module is neither loaded, built in nor loadable.'),
  ModuleDenied: reason('HostStepFailed', 'A kernel module is denied by the modprobe configuration.'),
  SysctlUnknown: reason('HostStepFailed', 'A sysctl key does not exist in this kernel.'),
  SysctlReadOnly: reason('HostStepFailed', 'A sysctl key cannot be written here.'),
  SysctlInvalidValue: reason('HostStepFailed', 'The kernel refused a sysctl value.'),
  SysctlNotEffective: reason('HostStepFailed', 'A sysctl does not hold the value that was written.'),
  SwapNotDisabled: reason('HostStepFailed', 'Swap is still active.'),
  StorageToolMissing: reason('Refused', 'A program that partitions, formats or mounts is not installed.'),
  DeviceMissing: reason('HostStepFailed', 'A block device of the document did not appear in time.'),
  DeviceAmbiguous: reason('HostStepFailed', 'Several block devices have the serial number or label of the document.'),
  DeviceBusy: reason('HostStepFailed', 'A block device that must be written is in use.'),
  DiskNotEmpty: reason(
    'HostStepFailed',
    'A disk has other contents than the document describes, and the document does not allow wiping it.',
  ),
  DiskTooSmall: reason('HostStepFailed', 'The partitions of the document do not fit on the disk.'),
  PartitioningFailed: reason(
    'HostStepFailed',
    'A partition table could not be written, or the kernel does not show it.',
  ),
  FilesystemDiffers: reason(
    'HostStepFailed',
    'A device has other contents than the document describes, and the document does not allow formatting it.',
  ),
  GrowthFailed: reason('HostStepFailed', 'A partition or a file system could not be made larger.'),
  FilesystemNotMade: reason('HostStepFailed', 'A file system could not be created.'),
  MountConflict: reason(
    'HostStepFailed',
    'Something else is mounted at the mount point, listed in fstab for it, or in its place.',
  ),
  MountFailed: reason('HostStepFailed', 'A file system could not be mounted, or swap could not be enabled.'),
  FileOwnerUnknown: reason('HostStepFailed', 'The owner of a file does not exist on this machine.'),
  FileNotWritten: reason('HostStepFailed', 'A file could not be written.'),
  ArchiveUnreadable: reason('HostStepFailed', 'An archive is damaged, or has a format that is not supported.'),
  ArchiveRefused: reason(
    'HostStepFailed',
    'An archive contains an entry that machineadm never unpacks, or lacks an entry that the document names.',
  ),
  RemovalRefused: reason(
    'HostStepFailed',
    'A path that the document wants removed has another type than the document says, or must not be removed.',
  ),
  UnsafePath: reason(
    'HostStepFailed',
    'An unprivileged user could redirect the path of a file, so it was neither read nor written.',
  ),
  DownloadFailed: reason('HostStepFailed', 'A file could not be downloaded, or has another digest.'),
  HTTPRequestFailed: reason('HostStepFailed', 'A server did not answer a request of machineadm completely.'),
  CertificateAuthorityNotTrusted: reason(
    'HostStepFailed',
    'The trust store of the operating system lacks a certificate authority that was added to it.',
  ),
  ServiceFailed: reason('HostStepFailed', 'A system service could not be started, stopped or restarted.'),
  ServiceMissing: reason('HostStepFailed', 'A service that the document names is not installed.'),
  ServiceMasked: reason('HostStepFailed', 'A service that the document wants to run is masked.'),
  ServiceUnsupported: reason(
    'HostStepFailed',
    'The service manager of this machine does not support a setting of a service.',
  ),
  AccountConflict: reason('HostStepFailed', 'A user or group exists with another id or home, or its id is taken.'),
  AccountToolMissing: reason('HostStepFailed', 'A program that changes users and groups is not installed.'),
  AccountNotChanged: reason('HostStepFailed', 'A user or group could not be created or changed.'),
  PasswordHashInvalid: reason('HostStepFailed', 'A value that must be a password hash is not one.'),
  AuthorizedKeysNotWritten: reason('HostStepFailed', 'The SSH keys of a user could not be written safely.'),
  SudoMissing: reason('HostStepFailed', 'The document grants sudo, which is not installed.'),
  SudoersInvalid: reason('HostStepFailed', 'sudo would refuse or ignore a rule of the document.'),
  SSHConfigurationInvalid: reason('Refused', 'sshd would refuse or ignore its configuration in the document.'),
  UnitFileInvalid: reason('Refused', 'systemd would refuse or ignore a unit or a drop-in of the document.'),
  HookSyntaxInvalid: reason('Refused', 'A command of a hook has a syntax error.'),
  TimeServiceMissing: reason('HostStepFailed', 'No time service is installed, and machineadm does not download one.'),
  ClockNotSynchronized: reason('HostStepFailed', 'The clock was not synchronized before the timeout.'),
  ActiveDirectoryToolMissing: reason('Refused', 'A program that joins the machine to its domain is not installed.'),
  ComputerNameInvalid: reason('Refused', 'The name of the machine is not a valid name for a computer in a domain.'),
  DomainNotFound: reason(
    'HostStepFailed',
    'The name servers have no record of a controller of the Active Directory domain.',
  ),
  DomainNameServiceFailed: reason('HostStepFailed', 'No name server answered the query for the domain.'),
  DomainControllerUnreachable: reason('HostStepFailed', 'A controller of the domain cannot be reached.'),
  DomainControllerClockSkew: reason(
    'HostStepFailed',
    'The clocks of this machine and of its domain are further apart than Kerberos allows.',
  ),
  DomainCredentialsRejected: reason('HostStepFailed', 'The domain does not accept the account or its password.'),
  DomainAccountDisabled: reason('HostStepFailed', 'The account that joins the domain is disabled or locked out.'),
  DomainPasswordExpired: reason('HostStepFailed', 'The password of the account that joins the domain expired.'),
  DomainPermissionDenied: reason('HostStepFailed', 'The account may not create or change the computer in the domain.'),
  OneTimePasswordRejected: reason(
    'HostStepFailed',
    'The one-time password of the computer is wrong or was used before.',
  ),
  ComputerAccountMissing: reason('HostStepFailed', 'The domain has no account for this computer.'),
  ComputerAccountExists: reason(
    'HostStepFailed',
    'The domain has an account of this name already, perhaps of another machine.',
  ),
  OrganizationalUnitMissing: reason('HostStepFailed', 'The organizational unit of the computer does not exist.'),
  OrganizationalUnitInvalid: reason('HostStepFailed', 'The organizational unit is not a container for computers.'),
  ServicePrincipalConflict: reason('HostStepFailed', 'A service principal of the computer belongs to another account.'),
  KeytabNotWritten: reason('HostStepFailed', 'The keys of the computer could not be written to the keytab.'),
  DomainTLSUntrusted: reason('HostStepFailed', 'The certificate of a domain controller is not trusted.'),
  DomainJoinBlobInvalid: reason(
    'HostStepFailed',
    'The offline join data is damaged, or belongs to another computer or domain.',
  ),
  MemberOfOtherDomain: reason('HostStepFailed', 'The machine is a member of another Active Directory domain.'),
  DomainJoinBroken: reason('HostStepFailed', 'The domain no longer accepts the keys of this computer.'),
  DomainJoinTimedOut: reason('HostStepFailed', 'The join of the domain did not end in time.'),
  DomainAddressNotRegistered: reason(
    'HostStepFailed',
    'The DNS of the domain did not accept the address of the machine.',
  ),
  DirectoryLoginsNotConfigured: reason('HostStepFailed', 'Users of the domain should be able to log in, but cannot.'),
  DomainJoinFailed: reason('HostStepFailed', 'The domain join failed, and no more specific reason applies.'),
  ContainerdConfigSyntax: reason('HostStepFailed', 'containerd refused its configuration file.'),
  ContainerdConfigUnknownKey: reason('HostStepFailed', 'containerd does not know a key of its configuration.'),
  ContainerdConfigNotEffective: reason('HostStepFailed', 'containerd does not use a configured value.'),
  ContainerdConfigWrongType: reason(
    'HostStepFailed',
    'A value in the configuration of containerd has the wrong type, so no pod could start.',
  ),
  ContainerdRegistryConflict: reason(
    'HostStepFailed',
    'Registries of containerd are configured both in the old way and in hosts.toml, which exclude each other.',
  ),
  ContainerdRuntimeUndefined: reason('HostStepFailed', 'The default runtime of containerd is not among its runtimes.'),
  ContainerdUnhealthy: reason('HostStepFailed', 'containerd does not answer CRI calls or reports itself not ready.'),
  ImageArchiveUnreadable: reason('HostStepFailed', 'An image archive is missing or damaged, or has another digest.'),
  ImageMissing: reason('HostStepFailed', 'An image that the document requires is not present.'),
  KMSSocketMissing: reason('HostStepFailed', 'The KMS plugin that encrypts at rest does not listen on its socket.'),
  EncryptionKeyNeeded: reason(
    'HostStepFailed',
    'The new encryption configuration could not read the existing data in etcd.',
  ),
  PKIInvalid: reason('HostStepFailed', 'A certificate or key of the document cannot be used.'),

  // The bootstrapper.
  BootstrapperFailed: reason(
    'BootstrapperFailed',
    'kubeadm failed for a cause that is not in the catalogue.',
    'Read the output of kubeadm in the evidence.',
  ),
  BootstrapperKilled: reason(
    'BootstrapperFailed',
    'A signal killed the bootstrapper.',
    'Find out what sent the signal, such as the OOM killer, then run the same command again.',
  ),
  KubeadmConfigInvalid: reason('BootstrapperFailed', 'kubeadm refused its configuration.'),
  LeftoverOfAnotherCluster: reason(
    'Refused',
    'Kubernetes files that this machineadm did not create are on the host.',
    'Find out whether the machine is a node that works (systemctl is-active kubelet). If not, run kubeadm reset, which asks first, or use a clean image.',
  ),

  // kubeadm's preflight checks.
  InsufficientCPU: bootstrapper('The machine has fewer CPUs than a control plane needs.'),
  InsufficientMemory: bootstrapper('The machine has less memory than a control plane needs.'),
  KubeletAlreadyRunning: bootstrapper('A kubelet runs on the machine already.'),
  PortInUse: bootstrapper('Another process uses a port that Kubernetes needs.'),
  StaticPodManifestExists: bootstrapper('Static pod manifests of an earlier kubeadm are on the machine.'),
  NodeAlreadyJoined: bootstrapper('The machine already has the kubelet credentials of an earlier join.'),
  BootstrapKubeconfigExists: bootstrapper('An earlier join was killed and left its bootstrap kubeconfig behind.'),
  CACertificateExists: bootstrapper('A worker found a cluster CA certificate on its disk before it joined.'),
  PreflightFileExists: bootstrapper('A file that kubeadm must create exists already.'),
  EtcdDataDirNotEmpty: bootstrapper('The etcd data directory is not empty.'),
  ManifestsDirNotEmpty: bootstrapper('The static pod directory is not empty, which this kubeadm does not accept.'),
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

  ExecBootstrapperFailed: reason(
    'BootstrapperFailed',
    'The program that replaces kubeadm failed.',
    'Read the output of the program in the evidence.',
  ),

  // kubeadm's configuration.
  KubeadmAPIVersionRemoved: bootstrapper(
    'The kubeadm configuration has an API version that this kubeadm no longer reads.',
  ),
  KubeadmAPIVersionDeprecated: bootstrapper('The kubeadm configuration has a deprecated API version.'),
  KubeadmAPIVersionExperimental: bootstrapper('The kubeadm configuration has an experimental API version.'),
  KubeadmAPIVersionUnknown: bootstrapper('The kubeadm configuration has an API version newer than this kubeadm.'),
  ClusterConfigurationVersionUnsupported: bootstrapper('The cluster was written by a newer kubeadm than this one.'),
  KubeadmConfigUnknownField: bootstrapper('This kubeadm does not know a field of its configuration, and ignores it.'),
  KubeadmConfigTypeMismatch: bootstrapper('A field of the kubeadm configuration has the wrong type.'),
  KubeadmConfigSyntaxInvalid: bootstrapper('The kubeadm configuration is not valid YAML.'),
  KubeadmConfigKindMissing: bootstrapper('The kubeadm configuration lacks the kind that the command needs.'),
  KubeadmConfigDuplicateKind: bootstrapper('The kubeadm configuration contains the same kind twice.'),
  KubeadmConfigFileMissing: bootstrapper('The kubeadm configuration file cannot be read.'),
  KubeadmFlagConflict: bootstrapper('A kubeadm flag cannot be combined with --config.'),
  CACertHashRequired: bootstrapper('Token discovery has no CA certificate hash to verify the cluster.'),
  DiscoveryFileInvalid: bootstrapper('The discovery file is neither a file on disk nor an https URL.'),
  NodeNameInvalid: bootstrapper('The node name is not a valid DNS name.'),
  UnknownKubeadmPhase: bootstrapper('A phase to skip does not exist in this kubeadm.'),
  UnknownKubeadmFeatureGate: bootstrapper('A kubeadm feature gate does not exist in this version.'),
  VersionLookupOffline: bootstrapper('kubeadm tried to look a version up on the internet and could not.'),
  ControlPlaneVersionTooOld: bootstrapper('The Kubernetes version is older than this kubeadm supports.'),
  KubeadmPatchFailed: bootstrapper('A kubeadm patch could not be applied.'),
  AdvertiseAddressInvalid: bootstrapper('The advertise address cannot be used by an API server.'),
  AdvertiseAddressNotLocal: bootstrapper('No interface of this machine has a configured address.'),
  NoDefaultRoute: bootstrapper('The machine has no default route, so no address could be chosen.'),

  // The container runtime and images.
  ContainerRuntimeNotReady: bootstrapper('The container runtime answers, but reports that it is not ready.'),
  ContainerRuntimeNotRunning: bootstrapper('The container runtime does not run or its socket cannot be reached.'),
  ContainerRuntimeKilled: bootstrapper('A signal killed the container runtime.'),
  CRISocketWrong: bootstrapper('The configured CRI socket is not the one of the running container runtime.'),
  CRIv1Unimplemented: bootstrapper('The container runtime does not offer the CRI v1 API.'),
  MultipleCRISockets: bootstrapper('Several container runtimes are installed, and the configuration selects none.'),
  ContainerRuntimeTooOld: bootstrapper('The container runtime is too old for a future Kubernetes version.'),
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
  ImagePullUnauthorized: bootstrapper('An image registry refused a pull without valid credentials.'),
  ContainerCommandNotFound: bootstrapper('The image of a container lacks the program that the container runs.'),
  ImageNotFound: bootstrapper('An image does not exist in its registry.'),
  ImageRegistryPlainHTTP: bootstrapper('An image registry uses plain HTTP where HTTPS was expected.'),
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
  APIEndpointNotTLS: bootstrapper('The server at the API endpoint does not use TLS.'),
  APIEndpointOtherCluster: reason(
    'NotReady',
    'Another cluster answers at the API endpoint.',
    'Correct the backends of the load balancer, or the address of the name.',
  ),
  APIEndpointUsesProxy: bootstrapper('The API endpoint is reached through an HTTP proxy.'),
  APIServerUnavailable: bootstrapper('The API server answers that it cannot serve requests.'),
  APIServerUnstable: bootstrapper('The API server came up, and then stopped answering.'),
  APIServerCertUntrusted: bootstrapper("The API server's certificate is signed by another CA."),
  APIServerCertSANMismatch: bootstrapper("The API server's certificate does not name the endpoint."),
  BootstrapTokenMalformed: bootstrapper('A bootstrap token has the wrong form.'),
  BootstrapTokenNotFound: bootstrapper('The cluster does not know the bootstrap token, or it expired.'),
  BootstrapTokenExpired: bootstrapper('The bootstrap token expired.'),
  BootstrapTokenSecretMismatch: bootstrapper(
    'The secret half of the bootstrap token is wrong, or another cluster answered.',
  ),
  BootstrapTokenUnauthorized: bootstrapper('The API server does not accept the bootstrap token for authentication.'),
  CACertHashMismatch: bootstrapper('The certificate authority of the cluster does not match the hash in the document.'),
  CACertHashMalformed: bootstrapper('A CA certificate hash has the wrong form.'),
  ClusterInfoForbidden: bootstrapper('The cluster does not let a joining node read cluster-info.'),
  ClusterInfoNotFound: bootstrapper('The cluster has no ConfigMap cluster-info yet.'),
  KubeadmConfigForbidden: bootstrapper("The cluster does not let a joining node read kubeadm's configuration."),
  KubeadmConfigMapMissing: bootstrapper('The cluster has no ConfigMap kubeadm-config.'),
  KubeletConfigMapMissing: bootstrapper('The cluster has no kubelet configuration for joining nodes.'),
  ControlPlaneEndpointMissing: bootstrapper(
    'The cluster has no stable control-plane endpoint, so no control plane can be added.',
  ),
  ClockSkew: bootstrapper('The clock of this machine is behind: a certificate is not valid yet.'),
  HostnameUnresolvable: bootstrapper('The host name of this machine cannot be resolved.'),
  FirewalldActive: bootstrapper('firewalld is active and may block Kubernetes ports.'),

  // Certificates and leftovers of another cluster.
  CertificateExpired: bootstrapper('A certificate has expired.'),
  CertificateUnreadable: bootstrapper('A certificate or key file is damaged.'),
  SharedCertificatesMissing: bootstrapper(
    'A joining control plane does not have the certificates that all control planes share.',
  ),
  CertificateKeySecretExpired: bootstrapper('The uploaded control-plane certificates expired or were never uploaded.'),
  CertificateSecretForbidden: bootstrapper(
    'The cluster does not let a joining control plane read the uploaded certificates.',
  ),
  CertificateKeyMismatch: bootstrapper('The certificates were uploaded with another certificate key.'),
  CertificateKeyMalformed: bootstrapper('The certificate key is not 64 hexadecimal digits.'),
  CertificateSecretIncomplete: bootstrapper(
    'The uploaded control-plane certificates lack a certificate that this node needs.',
  ),
  StaleKubeconfig: bootstrapper('A kubeconfig on this machine belongs to another CA.'),
  StaleCertificates: bootstrapper('A certificate on this machine belongs to another CA or lacks a configured name.'),

  // The kubelet and this machine's Node.
  KubeletServiceMissing: bootstrapper('The kubelet has no systemd unit, or it is masked.'),
  KubeletServiceNotEnabled: bootstrapper('The kubelet service is not enabled.'),
  KubeletStartLimitHit: bootstrapper('systemd gave up starting the kubelet.'),
  KubeletStopped: bootstrapper('The kubelet service is stopped.'),
  KubeletKilled: bootstrapper('A signal killed the kubelet.'),
  KubeletCrashLoop: bootstrapper('The kubelet keeps exiting with an error.'),
  KubeletDropInMissing: bootstrapper("The kubelet's unit lacks kubeadm's drop-in, so it starts without configuration."),
  KubeletUnknownFlag: bootstrapper('The kubelet does not know a flag that it was given.'),
  KubeletConfigInvalid: bootstrapper('The kubelet refuses its configuration file.'),
  KubeletConfigUnknownField: bootstrapper('The kubelet ignores a field of its configuration that it does not know.'),
  UnrecognizedFeatureGate: bootstrapper('A component does not know a feature gate that it was given.'),
  KernelDefaultsMismatch: bootstrapper("The kubelet refuses the kernel's settings (protectKernelDefaults)."),
  ContainerManagerFailed: bootstrapper('The kubelet could not set up its cgroups.'),
  NodeIPNotFound: bootstrapper('No interface of this machine has the configured node address.'),
  ResolvConfMissing: bootstrapper('The resolver file that the kubelet was given does not exist.'),
  BootstrapKubeconfigMissing: bootstrapper('The kubelet has neither its credentials nor a bootstrap kubeconfig.'),
  CSRForbidden: bootstrapper('The cluster does not let the kubelet request its certificate.'),
  TLSBootstrapTimeout: bootstrapper('The kubelet did not get its client certificate in time.'),
  NodeRegistrationTimeout: bootstrapper('The kubelet did not register its Node in time.'),
  NodeRefused: bootstrapper('The API server refuses the Node of this machine.'),
  NodeLabelRefused: bootstrapper('The kubelet may not set a label on its own Node.'),
  APIRequestRefused: bootstrapper('The API server refuses a request of kubeadm.'),
  LocalhostNotLocal: bootstrapper('The name localhost does not lead to this machine.'),
  KubeletServingCertificateMissing: bootstrapper(
    'The kubelet has no serving certificate, because its request was not approved.',
  ),
  NodeNameConflict: bootstrapper('A Node of this name already exists in the cluster.'),
  NodeGetForbidden: bootstrapper('The cluster does not let a joining node read its Node.'),
  APIServerUnreachableFromKubelet: bootstrapper('The kubelet cannot reach the API server.'),
  AdmissionWebhookFailed: bootstrapper('An admission webhook of the cluster refused a request, or did not answer.'),
  NodeDiskPressure: bootstrapper('The kubelet evicts pods because the disk is nearly full.'),
  NodeMemoryPressure: bootstrapper('The kubelet evicts pods because memory is nearly exhausted.'),

  // The control plane's static pods.
  ControlPlaneComponentNotHealthy: bootstrapper('A component of the control plane did not become healthy.'),
  StaticPodManifestInvalid: bootstrapper('The static pod directory contains a file that is not a pod.'),
  StaticPodCrashLoop: bootstrapper('A component of the control plane keeps exiting.'),
  APIServerPortBlocked: bootstrapper(
    'The API server listens, but its port cannot be reached on this machine: a firewall drops the packets.',
  ),
  StaticPodImagePullFailed: bootstrapper('The image of a static pod could not be pulled.'),
  StaticPodInsufficientResources: bootstrapper('The machine has too few resources left for a static pod.'),
  HostPathTypeMismatch: bootstrapper('A file that a static pod mounts does not exist or has another type.'),
  ComponentUnknownFlag: bootstrapper('A component of the control plane does not know a flag that it was given.'),
  ComponentFileMissing: bootstrapper(
    'The kubelet or a component of the control plane cannot open a file that it was given.',
  ),
  AuditPolicyFileMissing: bootstrapper("The API server's audit policy file cannot be read."),
  AuditPolicyInvalid: bootstrapper('The API server refuses its audit policy.'),
  EncryptionConfigInvalid: bootstrapper('The API server refuses its encryption configuration.'),
  APIServerNotReconfigured: reason(
    'BootstrapperFailed',
    'The API server did not come up with a changed configuration; the previous one was restored.',
    'Correct the settings of the API server. Its log is in the evidence.',
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
  EtcdLearnerAlreadyPromoted: bootstrapper('The new etcd member was promoted, but kubeadm treated this as a failure.'),
  EtcdMemberAlreadyExists: bootstrapper('An earlier attempt left its member in the etcd cluster.'),
  EtcdConcurrentJoin: bootstrapper('Another control plane is joining etcd at the same time.'),
  EtcdNotEnoughStartedMembers: bootstrapper('A member that was added to etcd earlier has not started.'),
  EtcdNoLeader: bootstrapper('etcd has no leader or answers too slowly.'),
  EtcdClusterNotAvailable: bootstrapper('etcd did not become available after the member was added.'),
  EtcdDatabaseSpaceExceeded: bootstrapper('The etcd database is full.'),
  EtcdMemberListMismatch: bootstrapper("The new etcd member's list of members differs from the cluster's."),
  EtcdMemberRemoved: bootstrapper('The etcd data directory belongs to a member that was removed.'),
  EtcdClusterIDMismatch: bootstrapper('The etcd data directory belongs to another cluster.'),
  EtcdSlowDisk: bootstrapper('The disk is too slow for etcd.'),

  // The machine itself.
  PackageManagerLocked: bootstrapper('Another process holds the lock of the package manager.'),
  CloudInitScriptFailed: bootstrapper('A script that cloud-init runs failed.'),
  OutOfMemory: bootstrapper('The kernel killed a process for lack of memory.'),
  ExecutionDenied: bootstrapper('The operating system refused to execute a program.'),
  ProcessLimitReached: bootstrapper('A limit of processes or threads (TasksMax, pids.max, ulimit -u) was reached.'),
  OpenFilesLimitReached: bootstrapper('A limit of open files was reached.'),
  SELinuxDenied: bootstrapper('SELinux denied access that Kubernetes needs.'),

  // Hardening.
  EtcdSnapshotFailed: reason(
    'HostStepFailed',
    'The snapshot of etcd before an upgrade could not be taken, or is damaged.',
    'Check that etcd answers and that the disk has space, then run machineadm upgrade again.',
  ),
  KubeadmUpgradeFailed: reason(
    'BootstrapperFailed',
    'kubeadm upgrade failed.',
    'Read the lines of kubeadm in the evidence, correct the cause, then run machineadm upgrade again.',
  ),
  KubeletNotReconfigured: reason(
    'BootstrapperFailed',
    'The kubelet does not run with changed settings; the previous ones were restored.',
    'Correct kubernetes.node.kubelet. The end of the message has the state of the node.',
  ),
  ControlPlaneNotReconfigured: reason(
    'BootstrapperFailed',
    'The controller manager, the scheduler or etcd does not run with changed arguments; the previous ones were restored.',
    'Read the log of the container in the evidence, and correct kubernetes.controlPlane. The end of the message has the state of the node.',
  ),
  CertificatesNotRenewed: reason(
    'BootstrapperFailed',
    'Certificates of the control plane could not be renewed, or a component did not come back with them.',
    'Read the evidence and the end of the message, which says what is on the node now. Correct the cause, then run machineadm upgrade again.',
  ),
  UpgradeNotProven: reason(
    'NotReady',
    'After the upgrade something of the node is not as asked: a version, the Node, or the member of etcd.',
    'Read the evidence, correct the cause, then run machineadm upgrade again: it continues.',
  ),
  HardeningNotEffective: reason(
    'BootstrapperFailed',
    'A setting of a hardening profile was applied, but changed again.',
    'Find the program that changes the setting back, or add an exception for the control.',
  ),
  HardenedComponentFailed: reason(
    'BootstrapperFailed',
    'A component did not start with a hardened setting; its previous manifest was restored.',
    'Add an exception for the control, or fix the cause in the log of the component.',
  ),
  NotANode: reason(
    'Refused',
    'This machine is not a node that kubeadm created.',
    'Run the command on a node that kubeadm created.',
  ),

  // Readiness.
  SuccessTestFailed: reason(
    'NotReady',
    'The success test of the bootstrapper does not pass.',
    'Run the success test manually, and read its output.',
  ),
  NodeLabelsNotSet: reason(
    'NotReady',
    'The API server does not accept the labels or taints of the Node of this machine.',
    'Correct the labels and taints of kubernetes.node, or the admission policy that refuses them.',
  ),
  KubeletNotHealthy: reason('NotReady', 'The kubelet does not answer its health endpoint.'),
  NodeNotRegistered: reason(
    'NotReady',
    'The API server has no Node object for this machine.',
    'Read the journal of the kubelet: journalctl -u kubelet.',
  ),
  NodeStateUnknown: reason(
    'NotReady',
    'No API server could be asked for the Node of this machine.',
    'Check that this machine reaches the API server, and that it answers in time.',
  ),
  NodeIdentityMismatch: reason('NotReady', 'A Node of this name exists but belongs to another machine.'),
  NodeNotReady: reason(
    'NotReady',
    'The Node is registered but not Ready.',
    'Install a pod network, or read the conditions of the Node.',
  ),

  // The source of machineadm itself and its releases.
  DownloadInvalid: reason(
    'Usage',
    'The location of a download, or what verifies it, is malformed or missing.',
    'Correct the location or the digest on the command line.',
  ),
  TrustedKeyInvalid: reason(
    'Refused',
    'No usable key to verify releases was found.',
    'Pass a public key with --key, or install one in the directory of trusted keys.',
  ),
  ReleaseUnavailable: reason(
    'Refused',
    'No location returned a complete answer.',
    'Check the route and the proxy to each location in the message.',
  ),
  ReleaseManifestInvalid: reason(
    'VerificationRefused',
    'The list or the manifest of a release is not valid.',
    'Fill the mirror again from a release.',
  ),
  SignatureInvalid: reason(
    'VerificationRefused',
    'No trusted key has signed these bytes.',
    'Do not use the file. Download it again from the publisher.',
  ),
  SigningKeyRevoked: reason(
    'VerificationRefused',
    'A signature is valid, but its key was revoked.',
    'Sign the release with a key that is not revoked.',
  ),
  DigestMismatch: reason(
    'VerificationRefused',
    'A file does not have the expected digest.',
    'Do not use the file. Find out why it differs from the published one.',
  ),
  ReleaseVersionMismatch: reason(
    'VerificationRefused',
    'A signed release has another version than the requested one.',
    'Request the version at that location, or publish the requested version there.',
  ),
  ReleaseTooOld: reason(
    'VerificationRefused',
    'A signed release is older than the minimum version.',
    'Request a newer release, or lower the minimum version.',
  ),
  WrongPlace: reason(
    'VerificationRefused',
    'A signed list belongs to another directory, or to a release.',
    'Serve the signed directory under the path that was signed.',
  ),
  RolledBack: reason(
    'VerificationRefused',
    'A signed list is older than one that this machine has already verified.',
    'Copy the newest signed directory to the mirror.',
  ),
  SignatureExpired: reason('VerificationRefused', 'A signed list has expired.', 'Sign the directory again.'),
  TooFewSignatures: reason(
    'VerificationRefused',
    'A list has fewer signatures of trusted keys than this machine requires.',
    'Sign the list with more trusted keys.',
  ),
  TrustRootRefused: reason(
    'VerificationRefused',
    'A file is not a signed root of trust, or does not follow the root that this machine trusts.',
    'Install the roots of the publisher in the order of their versions.',
  ),
  WebPageReceived: reason(
    'VerificationRefused',
    'The server returned a web page instead of a file, such as a login portal.',
    'Open the URL in a browser to see which portal, proxy or login page answers.',
  ),
  RedirectRefused: reason('VerificationRefused', 'A server redirects from https to http.', 'Use the final https URL.'),
  VerifiedFileChanged: reason(
    'VerificationRefused',
    'A file was changed after it was verified.',
    'Let only root write to the directory, then run the command again.',
  ),

  // Ends of a run.
  DeadlinePassed: reason(
    'DeadlinePassed',
    'The deadline of the step or of the whole run passed.',
    'Fix what the run waited for, or raise the timeout.',
  ),
  Interrupted: reason(
    'Interrupted',
    'A signal ended the run, or it was killed.',
    'Run the same command again: it resumes.',
  ),
  AfterBootstrapHookFailed: reason('AfterHookFailed', 'The node works, but an afterBootstrap hook failed.'),
  RebootRequired: reason(
    'RebootRequired',
    'A reboot is required, but the document does not allow one.',
    'Reboot the machine, then run the same command again.',
  ),
  Rebooting: reason(
    'RebootRequired',
    'The machine reboots for a change to take effect, and the run resumes automatically.',
    'No action is needed: the run resumes after the reboot.',
  ),
  InternalError: reason(
    'InternalError',
    'machineadm has a defect.',
    'Report the defect with the output of machineadm bundle.',
  ),
} as const satisfies Record<string, ReasonEntry>;

export interface ReasonEntry {
  readonly exit: ExitName;
  readonly meaning: string;
  /** What to do, where neither the catalogue of failures nor docs/faults.md says it. */
  readonly fix?: string;
}

export type Reason = keyof typeof REASONS;

function reason(exit: ExitName, meaning: string, fix?: string): ReasonEntry {
  return { exit, meaning, ...(fix === undefined ? {} : { fix }) };
}

/** A cause that the catalogue can name when the bootstrapper fails (`packages/failures/src/catalogue`). */
function bootstrapper(meaning: string): ReasonEntry {
  return reason('BootstrapperFailed', meaning);
}
