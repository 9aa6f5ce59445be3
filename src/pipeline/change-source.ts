import { claimsOf } from '@machineadm/document/claims/index.ts';
import { formatPath, type Place } from '@machineadm/document/diagnostics/index.ts';
import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import { leaves, placeOf } from '@machineadm/document/trees/tree.ts';
import { STEPS_BY_ID } from './pipeline.ts';

/** The place in the document that causes a change. */
export interface ChangeSource {
  readonly field: string;
  readonly position: Place;
}

/** Finds the source of a change by its id, or of a field by its path. */
export type FindSource = (step: string, idOrField: string) => ChangeSource | undefined;

/**
 * Finds the place in the document that causes a change: by its path, otherwise by the name in its id within the section
 * of its step, otherwise that section. undefined: the document does not contain it, as with the sentinel.
 */
export function sourcesOf({ model, tree }: Pick<LoadedDocument, 'model' | 'tree'>): FindSource {
  const claims = claimsOf(model);
  const fields = leaves(tree);
  const within = (part: string, path: string) =>
    path === part || (path.startsWith(part) && /^[.[]/.test(path.slice(part.length)));
  return (step, id) => {
    const named = fields.find(({ path }) => within(id, path));
    if (named !== undefined) return { field: id, position: named.at };
    const claim = claims.find((one) => one.step === step && one.field.length > 0 && id.endsWith(one.path));
    if (claim !== undefined) return { field: formatPath(claim.field), position: placeOf(tree, claim.field) };
    const section = STEPS_BY_ID.get(step)?.section;
    if (section === undefined) return undefined;
    const own = fields.filter(({ path }) => within(section, path));
    const names = namesIn(id);
    const found = own.find(
      ({ path, value }) => names.has(String(value)) || names.has(plainName(path.slice(section.length))),
    );
    const at = found ?? own[0];
    return at === undefined ? undefined : { field: found?.path ?? section, position: at.at };
  };
}

/** The name in a change's id: `ops` in `groups/ops`, a key in `sysctl/net/ipv4/ip_forward`, a path. */
function namesIn(id: string): ReadonlySet<string> {
  const [, ...parts] = id.split('/');
  return new Set([...parts, plainName(parts.join('/')), `/${parts.join('/')}`].filter((name) => name !== ''));
}

function plainName(text: string): string {
  return text.replace(/[^\w-]+/g, '.').replace(/^\.|\.$/g, '');
}
