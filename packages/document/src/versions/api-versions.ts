/** The `apiVersion` of every document version, the newest last: alone, so that who wants the names loads no schema. */
export const API_VERSIONS = ['machineadm.dev/v1alpha1'] as const;
