import type { Document } from 'yaml';

/** Options of the library for YAML of others: its warnings go to stderr and quote the text, which may be a secret. */
export const QUIET = { logLevel: 'error' } as const;

/**
 * The same for texts of any length. The library compares each key of a map with every other, and for each error it reads the
 * whole line. `examined` looks for duplicate keys in linear time.
 */
export const QUIET_AND_LINEAR = { ...QUIET, uniqueKeys: false, prettyErrors: false } as const;

/** The maximum number of aliases in one document: for each of them the library reads all anchors before it. */
const MOST_ALIASES = 200;

/** What a parsed document contains that the library does not tell, or that it takes too long for. */
export interface Examined {
  /** The places of keys that their map has already. */
  readonly repeatedKeys: readonly number[];
  /** Why `toJS` could take much longer than the text is long; undefined where it cannot. */
  readonly costly: string | undefined;
}

/** Examines a document before its value is asked for. A key that is a map or a list is printed for each level of nesting. */
export async function examined(document: Document): Promise<Examined> {
  const { isScalar, visit } = await import('yaml');
  const repeatedKeys: number[] = [];
  let aliases = 0;
  let hasOtherKeys = false;
  visit(document, {
    Alias() {
      aliases += 1;
    },
    Map(_key, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (isScalar(key)) {
          if (seen.has(key.value)) repeatedKeys.push(key.range?.[0] ?? 0);
          seen.add(key.value);
        } else if (key !== null) hasOtherKeys = true;
      }
    },
  });
  if (hasOtherKeys) return { repeatedKeys, costly: 'a key that is not a text' };
  return { repeatedKeys, costly: aliases > MOST_ALIASES ? `more than ${MOST_ALIASES} aliases` : undefined };
}

/**
 * The value of another program's YAML text; undefined if it is invalid, repeats a key, or could take much longer than it is
 * long. The library's error is withheld, because it quotes the text.
 */
export async function foreignYaml(text: string): Promise<unknown> {
  const { parseDocument } = await import('yaml');
  try {
    return await plainValue(parseDocument(text, QUIET_AND_LINEAR));
  } catch {
    return undefined;
  }
}

/** Loads the library, which the functions here do when they are first called. */
export async function loadYaml(): Promise<void> {
  await import('yaml');
}

/** The same for several documents in one text; those without a value are left out. */
export async function foreignYamlDocuments(text: string): Promise<readonly unknown[]> {
  const { parseAllDocuments } = await import('yaml');
  const values: unknown[] = [];
  try {
    for (const document of parseAllDocuments(text, QUIET_AND_LINEAR)) {
      const value = await plainValue(document).catch(() => undefined);
      if (value !== undefined) values.push(value);
    }
  } catch {
    // Nested more deeply than the stack allows.
  }
  return values;
}

/** Throws for an alias without its anchor, and for too many of them. */
async function plainValue(document: Document): Promise<unknown> {
  if (document.errors.length > 0) return undefined;
  const { costly, repeatedKeys } = await examined(document);
  return costly === undefined && repeatedKeys.length === 0 ? (document.toJS() as unknown) : undefined;
}
