import type * as z from 'zod';
import { MOST_PROBLEMS, nearestNames } from '../diagnostics/index.ts';
import { accepts, keysAt, schemasAt, segmentsOf } from './places.ts';
import { valueAt } from './valid-part.ts';

/** Keys that were given another name than the one that is missing in the same map: one mistake, and so one finding. */
export interface RenamedKeys {
  /** Whether the issue says that a key is missing whose value stands under another name. */
  isMissing(issue: z.core.$ZodIssue): boolean;
  /** The missing key whose value stands under an unknown one, by the path of the unknown key in JSON. */
  readonly meantBy: ReadonlyMap<string, string>;
}

export function renamedKeys(issues: readonly z.core.$ZodIssue[], schema: z.ZodType, value: unknown): RenamedKeys {
  const meantBy = new Map<string, string>();
  const missing = new Set<string>();
  for (const issue of issues.slice(0, 2 * MOST_PROBLEMS)) {
    if (issue.code !== 'unrecognized_keys') continue;
    const map = segmentsOf(issue);
    const absent = issues.flatMap((other) => {
      const path = segmentsOf(other);
      const isInMap = path.length === map.length + 1 && map.every((segment, index) => segment === path[index]);
      return isInMap && valueAt(value, path) === undefined ? [path] : [];
    });
    for (const key of issue.keys.slice(0, 2 * MOST_PROBLEMS)) {
      const given = valueAt(value, [...map, key]);
      const near = nearestNames(key, keysAt(schema, map));
      const meant = absent.filter(
        (path) => !missing.has(JSON.stringify(path)) && schemasAt(schema, path).some((field) => accepts(field, given)),
      );
      const [path] = meant;
      if (meant.length !== 1 || path === undefined) continue;
      if (near.length > 0 && !near.includes(String(path.at(-1)))) continue;
      missing.add(JSON.stringify(path));
      meantBy.set(JSON.stringify([...map, key]), String(path.at(-1)));
    }
  }
  return { isMissing: (issue) => missing.has(JSON.stringify(segmentsOf(issue))), meantBy };
}
