/**
 * What is known of the releases of Kubernetes, as data: one file per kind of fact, each fact with the minors of 1.x that it
 * holds for and its source. `validate`, rendering and preflight read it here. docs/kubernetes-releases.md tells how to add
 * a minor.
 */

/** kubeadm before 1.20 has no lab, no golden and no users left (v1beta2 began in 1.15). */
export const OLDEST_MINOR = 20;

/** The newest minor whose kubeadm configuration is known; newer ones are tried and left to `kubeadm config validate`. */
export const NEWEST_KNOWN_MINOR = 37;

/** The minors that know a name, first and last included. Absent: before the oldest, or to this day. */
export interface MinorWindow {
  readonly since?: number;
  readonly until?: number;
}

/** The minor of a version such as `v1.35.2`; infinite for a later major. */
export function minorOf(version: string): number {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  return major > 1 ? Number.POSITIVE_INFINITY : minor;
}

export function includes({ since = 0, until = Number.POSITIVE_INFINITY }: MinorWindow, minor: number): boolean {
  return since <= minor && minor <= until;
}
