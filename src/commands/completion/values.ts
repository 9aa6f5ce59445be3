import { HARDENING_PROFILES } from '@machineadm/document/sections/hardening-controls.ts';
import { Argument, type Option } from 'commander';

/** One word that a shell can offer, with its meaning. */
export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** The kinds of values that options and arguments take. */
export type ValueKind =
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  /** A path of a field of the document: `host.files`. */
  | { readonly kind: 'field' }
  /** A decision code of `convert`; several are separated by commas. */
  | { readonly kind: 'code' }
  /** A version of Kubernetes; the documents on the command line are asked for theirs. */
  | { readonly kind: 'version' }
  | { readonly kind: 'document' | 'file' | 'directory' | 'free' };

/** The kind by the placeholder in the help: `--key <file>` tells both the reader and the shell what to expect. */
const KINDS: Readonly<Record<string, ValueKind>> = {
  source: { kind: 'document' },
  document: { kind: 'document' },
  input: { kind: 'document' },
  log: { kind: 'file' },
  file: { kind: 'file' },
  path: { kind: 'file' },
  'location=file': { kind: 'file' },
  location: { kind: 'directory' },
  directory: { kind: 'directory' },
  field: { kind: 'field' },
  codes: { kind: 'code' },
  version: { kind: 'version' },
  benchmark: { kind: 'choice', choices: HARDENING_PROFILES },
  platform: { kind: 'choice', choices: ['linux-amd64', 'linux-arm64', 'windows-amd64'] },
  // Any text: there is nothing to offer.
  digest: { kind: 'free' },
  duration: { kind: 'free' },
  hash: { kind: 'free' },
  'host:port': { kind: 'free' },
  name: { kind: 'free' },
  names: { kind: 'free' },
  number: { kind: 'free' },
  release: { kind: 'free' },
  sink: { kind: 'free' },
  url: { kind: 'free' },
  word: { kind: 'free' },
};

/** Throws for a placeholder that is not in the table, so a new option has to say what it takes. */
export function valueKindOf(taker: Option | Argument): ValueKind {
  if (taker.argChoices !== undefined) return { kind: 'choice', choices: taker.argChoices };
  const name = taker instanceof Argument ? taker.name() : (/[<[]([^\]>.]+)/.exec(taker.flags)?.[1] ?? '');
  const kind = KINDS[name];
  if (kind === undefined) throw new Error(`completion does not know what <${name}> is: ${taker.name()}`);
  return kind;
}

/** What the command line contains so far. */
export interface Typed {
  readonly typed: string;
  readonly documents: readonly string[];
}

export async function candidatesOf(kind: ValueKind, { typed, documents }: Typed): Promise<readonly Candidate[]> {
  switch (kind.kind) {
    case 'choice':
      return kind.choices.map((value) => ({ value, description: '' }));
    case 'field':
      return await fields(typed);
    case 'code':
      return await codes(typed);
    case 'version':
      return await versions(documents);
    default:
      return [];
  }
}

/**
 * The fields below the last dot of what was typed. A field with fields of its own is also offered with a dot at its end.
 */
async function fields(typed: string): Promise<readonly Candidate[]> {
  const [{ jsonSchema }, { SchemaFields, isUnknownField }] = await Promise.all([
    import('@machineadm/document/versions/json-schema.ts'),
    import('@machineadm/document/schema/published-fields.ts'),
  ]);
  const schema = jsonSchema();
  if (schema === undefined) return [];
  const known = new SchemaFields(schema);
  const parent = known.find(typed.slice(0, Math.max(0, typed.lastIndexOf('.'))));
  if (isUnknownField(parent)) return [];
  return [...known.fieldsOf(parent), ...known.kindsOf(parent)].map(({ path, part }) => ({
    value: path,
    description: firstSentence(part.description ?? ''),
  }));
}

/** People accept codes one by one, so those already typed are not offered again. */
async function codes(typed: string): Promise<readonly Candidate[]> {
  const { CODES } = await import('@machineadm/convert/report/codes.ts');
  const before = typed.slice(0, typed.lastIndexOf(',') + 1);
  const chosen = before.split(',');
  return Object.entries(CODES)
    .filter(([code, { severity }]) => severity === 'decision' && !chosen.includes(code))
    .map(([code, { meaning }]) => ({ value: before + code, description: meaning }));
}

/** The versions in the documents on the command line; a document with mistakes gives none. */
async function versions(documents: readonly string[]): Promise<readonly Candidate[]> {
  const sources = documents.filter((source) => source !== '-');
  if (sources.length === 0) return [];
  try {
    const [{ openDocument }, { buildInfo }] = await Promise.all([
      import('../../pipeline/load.ts'),
      import('../../cli/build-info.ts'),
    ]);
    const version = (await openDocument(sources, buildInfo().version)).model.kubernetes?.version;
    return version === undefined ? [] : [{ value: String(version), description: 'kubernetes.version of the document' }];
  } catch {
    return [];
  }
}

function firstSentence(text: string): string {
  return /^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? text;
}
