import type { Placed, Report } from './report.ts';

/**
 * The value of a YAML text of the input; undefined where it has none, which is reported. The text is never shown: it may be
 * a secret. A document that is made of nothing but aliases of aliases is refused by the parser, too.
 *
 * @param version 1.1 for what Go's sigs.k8s.io/yaml and cloud-init's PyYAML read
 */
export async function yamlValue(
  text: string,
  at: Placed | string,
  report: Report,
  version: '1.1' | '1.2' = '1.1',
): Promise<unknown> {
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text, { version, uniqueKeys: false });
  const [mistake] = document.errors;
  if (mistake !== undefined) {
    report.add('InputInvalid', at, `not YAML: ${mistake.code} in line ${mistake.linePos?.[0].line ?? '?'}`);
    return undefined;
  }
  return plain(() => document.toJS(), at, report);
}

/** What turns a parsed document into values may still refuse it. */
export function plain(value: () => unknown, at: Placed | string, report: Report): unknown {
  try {
    return value();
  } catch {
    report.add('InputInvalid', at, 'not YAML: an alias without its anchor, or too many of them');
    return undefined;
  }
}
