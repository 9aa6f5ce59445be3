/** A mapping of a kubeadm document; keys are emitted in the order in which they were put in. */
export type Fields = Readonly<Record<string, unknown>>;

/** A list, or nothing when it is empty. */
export function listOrNothing<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

/** Sorts a mapping by key: what Kubernetes treats as unordered must come out the same every time. */
export function sortedByKey<T>(map: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * A duration as Go prints it (`10m0s`, `4320h0m0s`, `1.5s`, `500ms`), which is how metav1.Duration is written.
 * Takes milliseconds, not negative.
 */
export function goDuration(milliseconds: number): string {
  if (milliseconds === 0) return '0s';
  if (milliseconds < 1000) return `${milliseconds}ms`;
  const totalSeconds = Math.floor(milliseconds / 1000);
  const hours = Math.floor(totalSeconds / 3600);
  const minutes = Math.floor((totalSeconds % 3600) / 60);
  const fraction = milliseconds % 1000;
  const seconds = `${totalSeconds % 60}${
    fraction === 0
      ? ''
      : `.${String(fraction)
          .padStart(3, '0')
          .replace(/(?<!0)0+$/, '')}`
  }s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}
