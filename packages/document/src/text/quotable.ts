/** The longest text of a document that a message quotes. */
const LONGEST_QUOTED = 64;

/**
 * Whether a text of a document is a word as fields, choices and names have it, and not a secret in the wrong place: letters,
 * at most one short number, and none of the marks of random text (many changes of case, many consonants in a row).
 */
export function isPlainWord(text: string): boolean {
  if (text.length > LONGEST_QUOTED || !/^[A-Za-z][A-Za-z_./-]*(?:\d{1,3}[A-Za-z_./-]*)?$/.test(text)) return false;
  const letters = text.replace(/[^A-Za-z]/g, '');
  const humps = text.match(/[a-z][A-Z]/g)?.length ?? 0;
  return humps * 4 <= letters.length && !/[b-df-hj-np-tv-xz]{7}/i.test(letters);
}

/**
 * A text of a document for a message, in quotes; undefined where it is long or may hold a secret. Every part of it must be a
 * plain word, a short number, such as those of a version, an address or a path, or a duration. A text with "@", "=" or "?" may be a URL or a
 * setting with a password, so it is not quoted.
 */
export function quoted(text: string): string | undefined {
  if (text.length > LONGEST_QUOTED || !/^[\x20-\x7e]*$/.test(text) || /[@=?]/.test(text)) return undefined;
  const parts = text.split(/[^A-Za-z0-9]+/);
  const isPlain = parts.every(
    (part) => /^\d{0,5}(?:ms|[smhd])?$/.test(part) || /^v\d{1,3}$/.test(part) || isPlainWord(part),
  );
  return isPlain ? JSON.stringify(text) : undefined;
}
