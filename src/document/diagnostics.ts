/** Where something stands: a source's name as the user gave it, and a position counted from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** One problem of a document: what, where, and what to do about it. */
export interface Diagnostic {
  readonly place: Place;
  /** `host.files[2].mode`; empty for the document as a whole. */
  readonly path: string;
  readonly message: string;
  readonly hint: string | undefined;
}

export type PathSegment = string | number;

/** A mistake that no single field shows: what is said where, and what to do. */
export interface Finding {
  readonly path: readonly PathSegment[];
  readonly message: string;
  readonly hint?: string;
  /** Set where the mistake is the last key of `path` itself and not its value. */
  readonly key?: string;
  /** Another part that the message ends with: its place in a list shifts where items before it have mistakes. */
  readonly other?: readonly PathSegment[];
  /** What it is about, where that is not `path`: a finding about a part that has a mistake of its own is not told. */
  readonly about?: readonly PathSegment[];
}

/** `['host','files',2,'mode']` as `host.files[2].mode`; keys that are not plain words are quoted. */
export function formatPath(segments: readonly PathSegment[]): string {
  let text = '';
  for (const segment of segments) {
    if (typeof segment === 'number') text += `[${segment}]`;
    else if (/^[A-Za-z_][\w-]*$/.test(segment)) text += text === '' ? segment : `.${segment}`;
    else text += `[${JSON.stringify(segment)}]`;
  }
  return text;
}

/** `file:line:column  path: message (hint: …)`, the form that editors and people know. */
export function formatDiagnostic({ place, path, message, hint }: Diagnostic): string {
  const where = `${place.file}:${place.line}:${place.column}`;
  return `${where}  ${path === '' ? '' : `${path}: `}${message}${hint === undefined ? '' : ` (hint: ${hint})`}`;
}

/** A diagnostic that refuses nothing: what the document may say and will hurt. */
export function formatWarning(diagnostic: Diagnostic): string {
  return `warning: ${formatDiagnostic(diagnostic)}`;
}

/** A diagnostic as `-o json` shows it: `{file, line, column, path, message, hint?}`. */
export function diagnosticRecord({ place, path, message, hint }: Diagnostic): object {
  return { ...place, path, message, ...(hint === undefined ? {} : { hint }) };
}

/** Problems in reading order: by source as given, then by position. */
export function sortDiagnostics(diagnostics: readonly Diagnostic[], files: readonly string[]): Diagnostic[] {
  const rank = (diagnostic: Diagnostic) => files.indexOf(diagnostic.place.file);
  return [...diagnostics].sort(
    (a, b) => rank(a) - rank(b) || a.place.line - b.place.line || a.place.column - b.place.column,
  );
}

/** The known name nearest to a mistyped one, when it is near enough to be what was meant. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const sameLetters = known.find((candidate) => candidate.toLowerCase() === name.toLowerCase());
  if (sameLetters !== undefined) return sameLetters;
  const allowed = Math.max(1, Math.floor(name.length / 3));
  const ranked = known
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
