import { HARDENING_PROFILES } from '@machineadm/document/hardening-controls.ts';
import { Argument, type Option } from 'commander';

/** One word that a shell may offer, and what it means. */
export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** What an option or an argument takes. */
export type ValueKind =
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  /** A path of a field of the document: `host.files`. */
  | { readonly kind: 'field' }
  /** A code of `convert`, or several with commas. */
  | { readonly kind: 'code' }
  /** A version of Kubernetes: that of the document on the line. */
  | { readonly kind: 'version' }
  | { readonly kind: 'document' | 'file' | 'directory' | 'free' };

/** By what stands in the angle brackets of the help, so that `--key <file>` says it once for the reader and the shell. */
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
  // Nothing is known that could be offered.
  digest: { kind: 'free' },
  duration: { kind: 'free' },
  hash: { kind: 'free' },
  'host:port': { kind: 'free' },
  name: { kind: 'free' },
  number: { kind: 'free' },
  release: { kind: 'free' },
  sink: { kind: 'free' },
  url: { kind: 'free' },
  word: { kind: 'free' },
};

/** Throws where a name in angle brackets is in no table: a new option says what it takes. */
export function valueKindOf(taker: Option | Argument): ValueKind {
  if (taker.argChoices !== undefined) return { kind: 'choice', choices: taker.argChoices };
  const name = taker instanceof Argument ? taker.name() : (/[<[]([^\]>.]+)/.exec(taker.flags)?.[1] ?? '');
  const kind = KINDS[name];
  if (kind === undefined) throw new Error(`completion does not know what <${name}> is: ${taker.name()}`);
  return kind;
}

/** What is known of the line. */
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

/** The fields below what is typed up to its last dot; one with fields of its own is followed by a dot in another line. */
async function fields(typed: string): Promise<readonly Candidate[]> {
  const [{ jsonSchema }, { SchemaFields, isUnknownField }] = await Promise.all([
    import('@machineadm/document/json-schema.ts'),
    import('@machineadm/document/schema-fields.ts'),
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

/** Codes are accepted by a person one by one, so those that are typed already are not offered again. */
async function codes(typed: string): Promise<readonly Candidate[]> {
  const { CODES } = await import('@machineadm/convert/codes.ts');
  const before = typed.slice(0, typed.lastIndexOf(',') + 1);
  const chosen = before.split(',');
  return Object.entries(CODES)
    .filter(([code, { severity }]) => severity === 'decision' && !chosen.includes(code))
    .map(([code, { meaning }]) => ({ value: before + code, description: meaning }));
}

/** Of the documents on the line; one with mistakes has none. */
async function versions(documents: readonly string[]): Promise<readonly Candidate[]> {
  const sources = documents.filter((source) => source !== '-');
  if (sources.length === 0) return [];
  try {
    const [{ openDocument }, { buildInfo }] = await Promise.all([
      import('../pipeline/load.ts'),
      import('./build-info.ts'),
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
