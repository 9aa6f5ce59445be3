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
  RequiresNewerAgent: reason('DocumentInvalid', 'The document asks for a newer agent or a feature this one lacks.'),
  UnsupportedOnPlatform: reason('DocumentInvalid', 'The document asks for something this platform cannot do.'),
  NotPrivilegedUser: reason('Refused', 'machineadm was not started as root.'),
  Locked: reason('Refused', 'Another machineadm run is active on this machine.'),
  DocumentChanged: reason('Refused', 'The kubernetes section changed after this machine was bootstrapped.'),
  JournalUnreadable: reason('Refused', 'The journal of an earlier run is damaged and cannot be trusted.'),
  PreflightFailed: reason('Refused', 'Something the steps need is missing; every missing thing is listed.'),
  ContainerRuntimeMissing: reason('Refused', 'containerd is not installed.'),
  ContainerRuntimeUnsupported: reason('Refused', 'The containerd found is of an unsupported version.'),
  KubeadmNotInstalled: reason('Refused', 'kubeadm is not installed.'),
  KubeadmUnsupported: reason('Refused', 'The kubeadm found is of an unsupported version.'),
  KubeletNotInstalled: reason('Refused', 'The kubelet is not installed.'),
  NotExpressible: reason('Refused', 'The kubeadm found cannot express a field of the document.'),
  SecretUnavailable: reason('Refused', 'A secret reference could not be resolved.'),

  // Host steps.
  HostStepFailed: reason('HostStepFailed', 'A host step failed for a cause that has no name of its own.'),
  StepNotEffective: reason('HostStepFailed', 'A change was made but does not hold when read back.'),
  DiskFull: reason('HostStepFailed', 'No space or no inodes are left on the file system written to.'),
  ReadOnlyFilesystem: reason('HostStepFailed', 'A path that must be written lies on a read-only file system.'),
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
  FileOwnerUnknown: reason('HostStepFailed', 'The owner of a file does not exist on this machine.'),
  FileNotWritten: reason('HostStepFailed', 'A file could not be written.'),
  ServiceFailed: reason('HostStepFailed', 'A system service could not be started, stopped or restarted.'),
  ContainerdConfigSyntax: reason('HostStepFailed', 'containerd refused its configuration file.'),
  ContainerdConfigUnknownKey: reason('HostStepFailed', 'containerd does not know a key of its configuration.'),
  ContainerdConfigNotEffective: reason('HostStepFailed', 'containerd does not use a configured value.'),
  ContainerdUnhealthy: reason('HostStepFailed', 'containerd does not answer CRI calls or reports itself not ready.'),
  ImageArchiveUnreadable: reason('HostStepFailed', 'An image archive is missing, damaged or of another digest.'),
  ImageMissing: reason('HostStepFailed', 'An image that the document requires is not present.'),
  PKIInvalid: reason('HostStepFailed', 'A certificate or key of the document cannot be used.'),

  // The bootstrapper.
  BootstrapperFailed: reason('BootstrapperFailed', 'kubeadm failed for a cause the catalogue does not know.'),
  KubeadmConfigInvalid: reason('BootstrapperFailed', 'kubeadm refused its configuration.'),
  LeftoverOfAnotherCluster: reason('Refused', 'Kubernetes files that this machineadm did not create are on the host.'),

  // Readiness.
  KubeletNotHealthy: reason('NotReady', 'The kubelet does not answer its health endpoint.'),
  NodeNotRegistered: reason('NotReady', 'The API server has no Node object of this machine.'),
  NodeIdentityMismatch: reason('NotReady', 'A Node of this name exists but belongs to another machine.'),
  NodeNotReady: reason('NotReady', 'The Node is registered but not Ready.'),

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
