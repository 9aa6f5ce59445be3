import { API_VERSIONS } from '../versions/api-versions.ts';

/** The document versions that are read, the newest last: `machineadm.dev/v1alpha1`. */
export const apiVersions: readonly string[] = API_VERSIONS;
