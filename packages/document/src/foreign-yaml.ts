/**
 * Options of the library wherever it reads YAML that others wrote: its warnings go to standard error and quote the text,
 * which may be a secret.
 */
export const QUIET = { logLevel: 'error' } as const;

/**
 * The value of a YAML text of another program; undefined for what is not YAML. What the library says of it quotes it, and
 * is withheld.
 */
export async function foreignYaml(text: string): Promise<unknown> {
  const { parse } = await import('yaml');
  try {
    return parse(text, QUIET);
  } catch {
    return undefined;
  }
}

/** The same of several documents in one text; one that is not YAML is left out. */
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
