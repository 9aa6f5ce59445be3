import { isPlainWord } from '../text/quotable.ts';
import { foreignFieldHint } from './foreign-fields.ts';

/** A place: a source's name as the user gave it, and a position counted from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The machine-readable kinds of problems; contract/vectors/README.md explains each. A kind is never renamed. */
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

/** One problem of a document: what, where, and how to fix it. */
export interface Diagnostic {
  readonly code: ProblemCode;
  readonly place: Place;
  /** `host.files[2].mode`; empty for the whole document. */
  readonly path: string;
  readonly message: string;
  readonly hint: string | undefined;
}

export type PathSegment = string | number;

/** A problem that involves several fields: the message, its place, and how to fix it. */
export interface Finding {
  /** Default `Conflict`: fields that contradict or need each other. */
  readonly code?: ProblemCode;
  readonly path: readonly PathSegment[];
  readonly message: string;
  readonly hint?: string;
  /** Set where the problem is the last key of `path` itself and not its value. */
  readonly key?: string;
  /** Set where that key must not be printed: the path ends above it. */
  readonly hidesKey?: true;
  /** Another place for the end of the message: its list index is corrected if earlier items were removed as invalid. */
  readonly other?: readonly PathSegment[];
  /**
   * The subjects, where they are not `path`, such as the fields of which one is missing. A finding about a part that is
   * invalid or not known yet is not reported.
   */
  readonly about?: readonly (readonly PathSegment[])[];
}

/** Length limit for keys in a diagnostic's path. */
const LONGEST_KEY = 80;

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
 * A key of the input for messages. Names of fields, arguments, labels and devices are words with few digits; any other
 * long key could be a misplaced secret, so only its place is printed.
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
    // A list or a map that YAML accepts as a key contains values, which may be secrets.
    else text += /^[[{]|\n/.test(segment) ? '["…"]' : `[${JSON.stringify(segment)}]`;
  }
  return text;
}

/** The findings of a check for one kind of problem. */
export function withCode(code: ProblemCode, findings: readonly Finding[]): Finding[] {
  return findings.map((finding) => ({ code, ...finding }));
}

/** `file:line:column`. */
export function formatPlace({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`;
}

/** `file:line:column path: message (hint: …)`, the usual format for editors and users. */
export function formatDiagnostic({ place, path, message, hint }: Omit<Diagnostic, 'code'>): string {
  return `${formatPlace(place)}  ${path === '' ? '' : `${path}: `}${message}${hint === undefined ? '' : ` (hint: ${hint})`}`;
}

/** A warning: valid, but with undesired effects. */
export function formatWarning(diagnostic: Diagnostic): string {
  return `warning: ${formatDiagnostic(diagnostic)}`;
}

/** A diagnostic for `-o json`: `{code, file, line, column, path, message, hint?}`. */
export function diagnosticRecord({ code, place, path, message, hint }: Diagnostic): object {
  return { code, ...place, path, message, ...(hint === undefined ? {} : { hint }) };
}

/**
 * A part of an earlier source that is not in the merged document: a later source replaced it, or removed it with null.
 */
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

/** Limit of reported problems; a hostile document could otherwise exhaust memory. */
export const MOST_PROBLEMS = 200;

/**
 * Problems in reading order: by source as given, then by position. Only the first ones if there are very many, with the
 * total number.
 */
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

/** What is known of an unknown key beside its path. */
interface UnknownKey {
  /** The keys that the map can have. */
  readonly known: readonly string[];
  /** Keys of maps of another type at this place. */
  readonly others?: readonly string[];
  /** Its value in the document. */
  readonly value: unknown;
  /** The keys that were probably meant: one that the value fits, or fields of this name elsewhere. */
  readonly meant?: readonly string[];
}

/**
 * The finding for an unknown key of a map. The key is printed if it is a word as fields have it: anything else could be a
 * misplaced secret, and so could a key without a value, and every key below `secrets`.
 */
export function unknownKey(
  path: readonly PathSegment[],
  { known, others = [], value, meant = [] }: UnknownKey,
): Finding {
  const key = String(path.at(-1));
  const finding = { code: 'UnknownField', path, key, message: 'unknown key' } as const;
  if (others.includes(key))
    return { ...finding, hint: `only another type has it; this type has ${choices(known, key)}` };
  const foreign = foreignFieldHint(key, value);
  if (foreign !== undefined && foreign !== `use ${formatPath(path.slice(0, -1))}`) return { ...finding, hint: foreign };
  const near = nearestNames(key, known);
  if (near.length > 0) return { ...finding, hint: didYouMean(near) };
  const isPrinted = value !== null && path[0] !== 'secrets' && isPlainWord(key);
  const visible = isPrinted ? finding : ({ ...finding, hidesKey: true } as const);
  if (meant.length > 0) return { ...finding, hint: didYouMean(meant) };
  return known.length === 0 ? visible : { ...visible, hint: `known here: ${choices(known, key)}` };
}

/** `did you mean "a" or "b"?` */
export function didYouMean(names: readonly string[]): string {
  return `did you mean ${names.map((name) => `"${name}"`).join(' or ')}?`;
}

/** Suggested names: all if there are few, otherwise the five most similar ones. */
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

/** Longer names are not compared, because the comparison takes quadratic time. */
const LONGEST_COMPARED = 64;
const MOST_COMPARED = 500;

/**
 * The known names that were probably meant: usually one; several if the name is a part of each, as "ControlPlane" is of
 * "InitControlPlane" and "JoinControlPlane".
 */
export function nearestNames(name: string, known: readonly string[]): readonly string[] {
  const longer = name.length < 4 ? [] : known.filter((item) => item.toLowerCase().includes(name.toLowerCase()));
  if (longer.length > 1 && longer.length <= 3 && !longer.some((item) => item.length === name.length)) return longer;
  const near = nearestName(name, known);
  return near === undefined ? longer.slice(0, longer.length === 1 ? 1 : 0) : [near];
}

/** The known name most similar to a mistyped one, if it is similar enough. */
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
