import type { Finding, PathSegment } from '../../diagnostics.ts';

/** Where the API server's fields are. */
export const API_SERVER: readonly PathSegment[] = ['kubernetes', 'controlPlane', 'apiServer'];

/** A field that came later. */
export function since(path: readonly PathSegment[], minor: number): Finding {
  return {
    code: 'UnsupportedVersion',
    path,
    message: `needs Kubernetes 1.${minor}`,
    hint: 'remove it, or raise kubernetes.version',
  };
}
