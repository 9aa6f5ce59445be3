import type { Finding, PathSegment } from '../../../diagnostics.ts';

/** Exactly one of some fields must be there. Not told where the section has a mistake: it may be in one of them. */
export function oneOf<Name extends string>(
  section: { readonly [Key in Name]?: unknown },
  names: readonly [Name, Name, ...Name[]],
  path: readonly PathSegment[],
): Finding[] {
  const given = names.filter((name) => section[name] !== undefined);
  if (given.length === 1) return [];
  const all = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
  if (given.length === 0) return [{ path, message: `none of ${all} is given`, hint: 'give one of them' }];
  return [{ path, message: `${given.join(' and ')} exclude each other`, hint: 'keep one of them' }];
}
