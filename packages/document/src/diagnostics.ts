/** Where something stands: a source's name as the user gave it, and a position counted from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/**
 * The kinds of problems, for programs; contract/vectors/README.md says what each means. A kind is never renamed.
 */
export const PROBLEM_CODES = [
  'SyntaxError',
  'UnknownField',
  'MissingField',
  'InvalidType',
  'InvalidValue',
  'Conflict',
  'Duplicate',
  'Collision',
  'UnknownReference',
  'UnsupportedVersion',
  'RefusedByKubernetes',
  'UnsupportedPlatform',
  'RequiresNewerAgent',
  'Risk',
  'DocumentNotTrusted',
  'SecretReadableByAll',
] as const;

export type ProblemCode = (typeof PROBLEM_CODES)[number];

/** One problem of a document: what, where, and what to do about it. */
export interface Diagnostic {
  readonly code: ProblemCode;
  readonly place: Place;
  /** `host.files[2].mode`; empty for the document as a whole. */
  readonly path: string;
  readonly message: string;
  readonly hint: string | undefined;
}

export type PathSegment = string | number;

/** A mistake that no single field shows: what is said where, and what to do. */
export interface Finding {
  /** Default `Conflict`: fields that contradict or need each other. */
  readonly code?: ProblemCode;
  readonly path: readonly PathSegment[];
  readonly message: string;
  readonly hint?: string;
  /** Set where the mistake is the last key of `path` itself and not its value. */
  readonly key?: string;
  /** Set where that key is not to be told: the path ends above it. */
  readonly hidesKey?: true;
  /** Another part that the message ends with: its place in a list shifts where items before it have mistakes. */
  readonly other?: readonly PathSegment[];
  /** What it is about, where that is not `path`: a finding about a part that has a mistake of its own is not told. */
  readonly about?: readonly PathSegment[];
}

/** Keys of a diagnostic's path are cut here. */
const LONGEST_KEY = 80;

/** The path of a finding, for its diagnostic. */
export function pathOf({ path, hidesKey }: Finding): string {
  const told = hidesKey === true ? path.slice(0, -1) : path;
  return formatPath(
    told.map((part) => {
      if (typeof part === 'number') return part;
      const key = printableKey(part);
      return key.length > LONGEST_KEY ? `${key.slice(0, LONGEST_KEY)}…` : key;
    }),
  );
}

/**
 * A key of the input as reports tell it. Names of fields, arguments, labels and devices are words with few digits; of
 * anything else that stands where a key does, and is long enough for a secret, only the place is told.
 */
export function printableKey(name: string): string {
  return name.length < 8 || /^[A-Za-z._/-]*(?:\d[A-Za-z._/-]*){0,3}$/.test(name) ? name : '…';
}

/** `['host','files',2,'mode']` as `host.files[2].mode`; keys that are not plain words are quoted. */
export function formatPath(segments: readonly PathSegment[]): string {
  let text = '';
  for (const segment of segments) {
    if (typeof segment === 'number') text += `[${segment}]`;
    else if (/^[A-Za-z_][\w-]*$/.test(segment)) text += text === '' ? segment : `.${segment}`;
    // A list or a map that YAML made a key of holds values, which may be secrets.
    else text += /^[[{]|\n/.test(segment) ? '["…"]' : `[${JSON.stringify(segment)}]`;
  }
  return text;
}

/** The findings of a check that is about one kind of problem. */
export function withCode(code: ProblemCode, findings: readonly Finding[]): Finding[] {
  return findings.map((finding) => ({ code, ...finding }));
}

/** `file:line:column`. */
export function formatPlace({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`;
}

/** `file:line:column  path: message (hint: …)`, the form that editors and people know. */
export function formatDiagnostic({ place, path, message, hint }: Omit<Diagnostic, 'code'>): string {
  return `${formatPlace(place)}  ${path === '' ? '' : `${path}: `}${message}${hint === undefined ? '' : ` (hint: ${hint})`}`;
}

/** A diagnostic that refuses nothing: what the document may say and will hurt. */
export function formatWarning(diagnostic: Diagnostic): string {
  return `warning: ${formatDiagnostic(diagnostic)}`;
}

/** A diagnostic as `-o json` shows it: `{code, file, line, column, path, message, hint?}`. */
export function diagnosticRecord({ code, place, path, message, hint }: Diagnostic): object {
  return { code, ...place, path, message, ...(hint === undefined ? {} : { hint }) };
}

/** A part of an earlier source that is not in the merged document: a later one replaced it, or removed it with null. */
export interface ReplacedPart {
  readonly path: readonly PathSegment[];
  readonly what: 'value' | 'list' | 'section';
  readonly isRemoved: boolean;
  readonly at: Place;
  readonly previous: Place;
}

/** `note: file:line:column  path: replaces the list at file:line:column`. */
export function formatReplacedPart({ path, what, isRemoved, at, previous }: ReplacedPart): string {
  const message = `${isRemoved ? 'removes' : 'replaces'} the ${what} at ${formatPlace(previous)}`;
  return `note: ${formatDiagnostic({ place: at, path: formatPath(path), message, hint: undefined })}`;
}

/** The same for `-o json`: `{file, line, column, path, what, removed, previous: {file, line, column}}`. */
export function replacedPartRecord({ path, what, isRemoved, at, previous }: ReplacedPart): object {
  return { ...at, path: formatPath(path), what, removed: isRemoved, previous };
}

/** More problems than this help nobody, and cost a hostile document's reader its memory. */
export const MOST_PROBLEMS = 200;

/** Problems in reading order: by source as given, then by position. Of very many the first, and how many there are. */
export function sortDiagnostics(diagnostics: readonly Diagnostic[], files: readonly string[]): Diagnostic[] {
  const ranks = new Map(files.map((file, index) => [file, index]));
  const rank = (diagnostic: Diagnostic) => ranks.get(diagnostic.place.file) ?? -1;
  const sorted = [...diagnostics].sort(
    (a, b) => rank(a) - rank(b) || a.place.line - b.place.line || a.place.column - b.place.column,
  );
  const last = sorted[MOST_PROBLEMS];
  if (last === undefined) return sorted;
  const more = {
    code: last.code,
    place: last.place,
    path: '',
    message: `${sorted.length - MOST_PROBLEMS} more problems from here on`,
  };
  return [...sorted.slice(0, MOST_PROBLEMS), { ...more, hint: 'correct those above first' }];
}

/**
 * The finding about a key that a map does not know. The key is told only where it is nearly a known one: what stands in the
 * place of a key by mistake may be a secret.
 */
export function unknownKey(path: readonly PathSegment[], known: readonly string[]): Finding {
  const key = String(path.at(-1));
  const near = nearestName(key, known);
  if (near !== undefined)
    return { code: 'UnknownField', path, key, message: 'unknown key', hint: `did you mean "${near}"?` };
  const hint = known.length === 0 ? {} : { hint: `known here: ${choices(known, key)}` };
  return { code: 'UnknownField', path, key, hidesKey: true, message: 'unknown key', ...hint };
}

/** Names to choose from: all of a few, of many the five that are nearest to what was written. */
export function choices(known: readonly string[], written: string): string {
  if (known.length <= 12) return known.join(', ');
  if (known.length > MOST_COMPARED) return `${known.slice(0, 5).join(', ')} and ${known.length - 5} more`;
  const from = written.slice(0, LONGEST_COMPARED).toLowerCase();
  const ranked = known
    .map((name) => ({ name, distance: editDistance(from, name.slice(0, LONGEST_COMPARED).toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  return `${ranked
    .slice(0, 5)
    .map(({ name }) => name)
    .join(', ')} and ${known.length - 5} more`;
}

/** Longer names are not compared: nobody mistypes those, and the comparison costs the square of their length. */
const LONGEST_COMPARED = 64;
const MOST_COMPARED = 500;

/** The known name nearest to a mistyped one, when it is near enough to be what was meant. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > LONGEST_COMPARED || known.length > MOST_COMPARED) return undefined;
  const sameLetters = known.find((candidate) => candidate.toLowerCase() === name.toLowerCase());
  if (sameLetters !== undefined) return sameLetters;
  const allowed = Math.max(1, Math.floor(name.length / 3));
  const ranked = known
    .filter((candidate) => Math.abs(candidate.length - name.length) <= allowed)
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const best = ranked[0];
  return best !== undefined && best.distance <= allowed ? best.candidate : undefined;
}

/** Levenshtein distance with adjacent transpositions counted as one edit. */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const cost = a[row - 1] === b[column - 1] ? 0 : 1;
      let best = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + cost,
      );
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        best = Math.min(best, (beforePrevious[column - 2] ?? 0) + 1);
      }
      current.push(best);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}
