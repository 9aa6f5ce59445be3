import { includes, type MinorWindow } from './minor.ts';

/**
 * The admission plugins that are compiled into the API server, by the minors of 1.x that have them (k/k
 * pkg/kubeapiserver/options/plugins.go of 1.31.14 to 1.36.3, and the changelogs before). It does not start with a name that it does not know.
 */
export const ADMISSION_PLUGINS: Readonly<Record<string, MinorWindow>> = {
  AlwaysAdmit: {},
  AlwaysDeny: {},
  AlwaysPullImages: {},
  CertificateApproval: {},
  CertificateSigning: {},
  CertificateSubjectRestriction: {},
  ClusterTrustBundleAttest: { since: 27 },
  DefaultIngressClass: {},
  DefaultStorageClass: {},
  DefaultTolerationSeconds: {},
  DenyServiceExternalIPs: { since: 21 },
  EventRateLimit: {},
  ExtendedResourceToleration: {},
  ImagePolicyWebhook: {},
  JobValidation: { since: 36 },
  LimitPodHardAntiAffinityTopology: {},
  LimitRanger: {},
  MutatingAdmissionPolicy: { since: 32 },
  MutatingAdmissionWebhook: {},
  NamespaceAutoProvision: {},
  NamespaceExists: {},
  NamespaceLifecycle: {},
  NodeDeclaredFeatureValidator: { since: 35 },
  NodeRestriction: {},
  OwnerReferencesPermissionEnforcement: {},
  PersistentVolumeClaimResize: {},
  PersistentVolumeLabel: { until: 30 },
  PodGroupProtection: { since: 36 },
  PodGroupWorkloadExists: { since: 36 },
  PodNodeSelector: {},
  PodResizeValidator: { since: 36 },
  PodSecurity: { since: 22 },
  PodSecurityPolicy: { until: 24 },
  PodTolerationRestriction: {},
  PodTopologyLabels: { since: 33 },
  Priority: {},
  ResourceQuota: {},
  RuntimeClass: {},
  SecurityContextDeny: { until: 29 },
  ServiceAccount: {},
  StorageObjectInUseProtection: {},
  TaintNodesByCondition: {},
  ValidatingAdmissionPolicy: { since: 26 },
  ValidatingAdmissionWebhook: {},
};

/** The newest minor whose plugins are known; a later one may have more. */
export const NEWEST_KNOWN_PLUGINS_MINOR = 36;

/** The names that an API server of this minor knows, as far as we know. */
export function admissionPlugins(minor: number): readonly string[] {
  return Object.entries(ADMISSION_PLUGINS)
    .filter(([, window]) => includes(window, minor))
    .map(([name]) => name);
}
