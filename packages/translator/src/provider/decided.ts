/**
 * What Cluster API decides about a machine, and who decides it: the fields of a document that a MachineadmConfig may not have,
 * by their path. The schema of the definition and the controller both refuse them.
 */
export const DECIDED: Readonly<Record<string, string>> = {
  apiVersion: 'the version of the MachineadmConfig',
  kind: 'the kind of the MachineadmConfig',
  metadata: 'the Machine and its Cluster',
  'kubernetes.version': 'spec.version of the Machine',
  'kubernetes.role': 'the owner of the Machine: machines of a MachineadmConfig are workers',
  'kubernetes.cluster': 'the control plane of the Cluster',
  'kubernetes.pki': 'the control plane of the Cluster',
  'kubernetes.controlPlane': 'the control plane of the Cluster',
  'kubernetes.addons': 'the control plane of the Cluster',
  'kubernetes.join': 'spec.controlPlaneEndpoint of the Cluster, its certificate authority and a new bootstrap token',
};
