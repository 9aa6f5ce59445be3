/** The kinds of results. `machineadm schema --kind` prints the JSON Schema of each, and contract/output has it. */
export const OUTPUT_KINDS = [
  'Bundle',
  'ConformanceReport',
  'Diagnosis',
  'DoctorReport',
  'DocumentOrigins',
  'Error',
  'Facts',
  'FetchedFiles',
  'HardeningAudit',
  'ImageList',
  'ImageReadiness',
  'KubeadmConfiguration',
  'Plan',
  'ReportFlush',
  'ReportTest',
  'ResetResult',
  'ResidueAudit',
  'RunEvent',
  'Timeline',
  'TrustedKeys',
  'Validation',
  'Verification',
  'Version',
] as const;

export type OutputKind = (typeof OUTPUT_KINDS)[number];
