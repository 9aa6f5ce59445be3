/** Options of the library for YAML of others: its warnings go to stderr and quote the text, which may be a secret. */
export const QUIET = { logLevel: 'error' } as const;

/**
 * The value of another program's YAML text; undefined if it is invalid. The library's error is withheld, because it
 * quotes the text.
 */
export async function foreignYaml(text: string): Promise<unknown> {
  const { parse } = await import('yaml');
  try {
    return parse(text, QUIET);
  } catch {
    return undefined;
  }
}

/** Loads the library, which the functions here do when they are first called. */
export async function loadYaml(): Promise<void> {
  await import('yaml');
}

/** The same for several documents in one text; invalid ones are left out. */
export async function foreignYamlDocuments(text: string): Promise<readonly unknown[]> {
  const { parseAllDocuments } = await import('yaml');
  return parseAllDocuments(text, QUIET).flatMap((document) => {
    try {
      return document.errors.length > 0 ? [] : [document.toJS() as unknown];
    } catch {
      // An alias without its anchor, or too many of them.
      return [];
    }
  });
}
