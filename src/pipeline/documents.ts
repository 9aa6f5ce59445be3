import type { Resource } from '../host/seam/resource.ts';
import type { Memory } from '../step/memory.ts';
import { type Asked, type Wants, wantsOf } from '../step/wants.ts';
import type { JournalRecord } from './journal-record.ts';
import { type ResourceMemory, sourcesKey } from './resource-memory.ts';

/** A document that was applied to this machine, or begun, and was not reset. */
export interface DocumentState {
  /** Identifies it in the journal (`documentKey`). */
  readonly key: string;
  /** `metadata.name`; undefined where an earlier version recorded its sources only. */
  readonly name: string | undefined;
  readonly command: 'provision' | 'prepare';
  /** Of its last run. */
  readonly sources: readonly string[];
  /** Whether records of an earlier version, which had no names, are its. */
  readonly isAdopted: boolean;
  /** What it asks for; undefined where an earlier version did not record it. */
  readonly asked: Asked | undefined;
  /** How its last run ended; undefined while it is active, or where it was killed. */
  readonly outcome: string | undefined;
  /** When its last run began or ended; RFC 3339, UTC. */
  readonly at: string;
}

/** What a journal knows of documents. */
export interface WithDocuments extends ResourceMemory {
  readonly documents: ReadonlyMap<string, DocumentState>;
  readonly hooks: ReadonlyMap<string, unknown>;
  readonly actedFor: ReadonlyMap<string, Memory['acted']>;
  readonly applied: ReadonlyMap<string, { readonly document: string }>;
  readonly isResetting: boolean;
}

/** What tells documents apart on a machine. */
export type DocumentId = Pick<Extract<JournalRecord, { is: 'run' }>, 'command' | 'name' | 'sources'>;

/**
 * The key of a document in the journal: its name. A document that is applied to an image is another one than that of
 * the same name on a machine. Earlier versions told documents apart by their sources.
 */
export function documentKey({ command, name, sources }: DocumentId): string {
  if (name === undefined) return sourcesKey(sources);
  return command === 'prepare' ? `image ${name}` : name;
}

/** The key of a document, or of what an earlier version recorded without one. */
export function ownerOf(id: DocumentId | undefined): string {
  return id === undefined ? sourcesKey(undefined) : documentKey(id);
}

/** How operators see a document. */
export function documentTitle({ name, sources }: Pick<DocumentState, 'name' | 'sources'>): string {
  return name ?? (sources.length === 0 ? 'a document without a name' : sources.join(', '));
}

/**
 * The state for a run of this document. What an earlier version recorded for the same sources becomes that of the named
 * document, and so does what a version recorded that knew no sources.
 */
export function withDocument<State extends WithDocuments>(state: State, id: DocumentId, at: string): State {
  const key = documentKey(id);
  const documents = new Map(state.documents);
  let { hooks, actedFor }: WithDocuments = state;
  let isAdopted = documents.get(key)?.isAdopted === true;
  if (id.name !== undefined) {
    for (const old of [sourcesKey(id.sources), sourcesKey(undefined)]) {
      if (documents.get(old)?.command !== id.command) continue;
      documents.delete(old);
      isAdopted = true;
      relabel(state, old, key);
      hooks = renamed(hooks, old, key);
      actedFor = renamed(actedFor, old, key);
    }
  }
  const { command, name, sources = [] } = id;
  if (!documents.has(key)) hooks = withHooksOfRenamed(documents, hooks, key, sources);
  const { asked } = documents.get(key) ?? {};
  documents.set(key, { key, name, command, sources, isAdopted, asked, outcome: undefined, at });
  return { ...state, documents, hooks, actedFor };
}

/** A document that has a new name in the same file has run its hooks. */
function withHooksOfRenamed(
  documents: ReadonlyMap<string, DocumentState>,
  hooks: ReadonlyMap<string, unknown>,
  key: string,
  sources: readonly string[],
): ReadonlyMap<string, unknown> {
  if (hooks.has(key) || sources.length === 0 || sources.includes('-')) return hooks;
  const old = [...documents.values()].find((one) => one.sources.join('\0') === sources.join('\0'));
  const ran = old === undefined ? undefined : hooks.get(old.key);
  return ran === undefined ? hooks : new Map(hooks).set(key, ran);
}

/** The state once it is known what a document asks for: what it no longer does belongs to another that does. */
export function withAsked<State extends WithDocuments>(state: State, key: string, asked: Asked): State {
  const known = state.documents.get(key);
  if (known === undefined) return state;
  const documents = new Map(state.documents).set(key, { ...known, asked });
  const own = wantsOf(asked);
  const others = [...documents.values()].flatMap((one) =>
    one.key === key || one.asked === undefined ? [] : [{ key: one.key, wants: wantsOf(one.asked) }],
  );
  const heir = (of: Resource, step: string): string | undefined =>
    own(of, step) ? undefined : others.find(({ wants }) => wants(of, step))?.key;
  if (others.length > 0) {
    for (const [of, record] of state.before) {
      const to = record.document === key ? heir(of, record.step) : undefined;
      if (to !== undefined) state.before.set(of, { ...record, document: to });
    }
    for (const [path, place] of state.owned) {
      const to = place.document === key ? heir(`path:${path}`, place.step) : undefined;
      if (to !== undefined) state.owned.set(path, { ...place, document: to });
    }
  }
  return { ...state, documents };
}

/** Whether another document than this one asks for a resource. */
export function wantedByOthers({ documents }: Pick<WithDocuments, 'documents'>, key: string | undefined): Wants {
  const others = [...documents.values()].flatMap((one) =>
    one.key === key || one.asked === undefined || one.command === 'prepare' ? [] : [wantsOf(one.asked)],
  );
  return (of, step) => others.some((wants) => wants(of, step));
}

/** The state without a document that was reset: what others ask for, too, is theirs. */
export function withoutDocument<State extends WithDocuments>(given: State, key: string): State {
  const state = withAsked(given, key, { agent: '', wishes: [], claims: [] });
  const without = <Value>(map: ReadonlyMap<string, Value>): ReadonlyMap<string, Value> =>
    new Map([...map].filter(([one]) => one !== key));
  for (const [of, { document }] of state.before) {
    if (document !== key) continue;
    state.before.delete(of);
    state.after.delete(of);
  }
  for (const [path, { document }] of state.owned) if (document === key) state.owned.delete(path);
  const applied = new Map([...state.applied].filter(([, { document }]) => document !== key));
  const { documents, hooks, actedFor } = state;
  return {
    ...state,
    documents: without(documents),
    hooks: without(hooks),
    actedFor: without(actedFor),
    applied,
    isResetting: false,
  };
}

function relabel({ before, owned }: ResourceMemory, from: string, to: string): void {
  for (const [of, record] of before) if (record.document === from) before.set(of, { ...record, document: to });
  for (const [path, place] of owned) if (place.document === from) owned.set(path, { ...place, document: to });
}

function renamed<Value>(map: ReadonlyMap<string, Value>, from: string, to: string): ReadonlyMap<string, Value> {
  const value = map.get(from);
  if (value === undefined) return map;
  const copy = new Map(map);
  copy.delete(from);
  return copy.set(to, value);
}
