import type { Model } from '@machineadm/document/model/index.ts';

/** The names in the document, including those with `absent: true`. */
export function namedIn(
  { absentNames }: Model['host'],
  kind: string,
  present: readonly { readonly name: string }[],
): readonly string[] {
  const absent = absentNames.filter((one) => one.kind === kind);
  return [...present, ...absent].map(({ name }) => (kind === 'service' ? name.replace(/\.service$/, '') : name));
}
