/** Why a MachineadmConfig has no bootstrap data; published as the reason of its condition Ready (docs/machineadmconfig.md). */
export const NOT_READY_REASONS = {
  WaitingForClusterInfrastructure: 'The infrastructure of the Cluster is not ready.',
  WaitingForControlPlaneInitialized: 'The control plane of the Cluster does not answer yet.',
  WorkloadClusterUnreachable: 'The kubeconfig of the Cluster is missing or refused, or its API server does not answer.',
  VersionMissing: 'The Machine has no spec.version.',
  SecretUnavailable: 'A Secret that the MachineadmConfig refers to is missing or must not be used.',
  DocumentInvalid: 'The document is invalid, or has a field that Cluster API decides.',
  OptionsInvalid: 'The profile is missing or invalid, or does not fit the document.',
  DataSecretExists: 'A Secret of the same name belongs to something else.',
  BootstrapTokenExpired: 'The machine did not join before its token expired.',
  RequestFailed: 'A request to the management cluster failed.',
} as const;
export type NotReadyReason = keyof typeof NOT_READY_REASONS;

/** Ends an attempt to make bootstrap data. The message contains no secret. */
export class NotReady extends Error {
  readonly reason: NotReadyReason;

  constructor(reason: NotReadyReason, message: string) {
    super(message);
    this.name = 'NotReady';
    this.reason = reason;
  }
}
