import type { SinkModel } from '../model/index.ts';
import { MachineadmError } from '../outcomes/errors.ts';
import { secretsIn } from '../secrets/secret-values.ts';
import type { ListTree, MapTree, Tree } from '../trees/tree.ts';

/** What a sink of the command line is called in messages. */
export const SINK_OPTION = '--sink';

/**
 * The document with sinks of the command line after its own. A document that names none keeps its default sink. Each added one is a map as in `reporting.sinks`, or the bare type of one that needs nothing else.
 */
export function withSinks(document: MapTree, added: readonly Tree[]): MapTree {
  if (added.length === 0) return document;
  const { at } = document;
  const reporting = document.entries.get('reporting')?.value ?? emptyMap(at);
  // A value that is no map is reported as such by the validation.
  if (reporting.kind !== 'map') return document;
  const own = reporting.entries.get('sinks')?.value ?? { kind: 'list', at, items: [ofType('Journal', at)] };
  if (own.kind !== 'list') return document;
  const items = added.map((sink) => (sink.kind === 'scalar' ? ofType(sink.value, sink.at) : sink));
  const sinks: ListTree = { ...own, items: [...own.items, ...items] };
  return withEntry(document, 'reporting', withEntry(reporting, 'sinks', sinks));
}

/** Whoever may list processes reads the command line: a secret has no place there. Throws `UsageInvalid`. */
export function refuseSecretsOf(added: readonly SinkModel[]): void {
  const literal = [...secretsIn(added)].find(({ name, source }) => source.kind === 'value' && !/^secrets\./.test(name));
  if (literal === undefined) return;
  throw new MachineadmError({
    reason: 'UsageInvalid',
    summary: `${SINK_OPTION}: ${literal.name} is a secret, and every user of this machine can read a command line`,
    remedy: 'Define it under secrets in a document, and refer to it: {secret: NAME}.',
  });
}

function withEntry(map: MapTree, key: string, value: Tree): MapTree {
  const keyAt = map.entries.get(key)?.keyAt ?? value.at;
  return { ...map, entries: new Map([...map.entries, [key, { keyAt, value }]]) };
}

function ofType(type: string | number | boolean | null, at: Tree['at']): MapTree {
  return withEntry(emptyMap(at), 'type', { kind: 'scalar', at, value: type });
}

function emptyMap(at: Tree['at']): MapTree {
  return { kind: 'map', at, entries: new Map() };
}
