import { VERBATIM_TAG, Verbatim } from '@machineadm/document/values/verbatim.ts';

/**
 * Writes a readable document: sections in the order of the reference, long texts as blocks, no folded lines.
 *
 * @param reader kubectl reads YAML 1.1, where `no`, `on` and 12:30 are no texts
 */
export async function emitDocument(
  document: object,
  title: string,
  reader: 'machineadm' | 'kubectl' = 'machineadm',
): Promise<string> {
  const { Document, visit } = await import('yaml');
  const version = reader === 'kubectl' ? '1.1' : '1.2';
  const written = new Document(document, { aliasDuplicateObjects: false, customTags: [VERBATIM_TAG], version });
  visit(written, {
    Scalar(_key, scalar) {
      if (typeof scalar.value !== 'string') return;
      if (scalar.value.includes('\n') && isBlockText(scalar.value)) scalar.type = 'BLOCK_LITERAL';
      // A number of YAML 1.2 only, which kubectl knows, too.
      if (/^[-+]?0o[0-7]+$/.test(scalar.value)) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  written.commentBefore = ` ${title}`;
  return written.toString({ lineWidth: 0 });
}

/**
 * What a YAML block can contain literally: no control characters, and no leading blank that would be taken for
 * indentation.
 */
function isBlockText(text: string): boolean {
  return !/[^\t\n\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd]/.test(text) && !/^\s/.test(text) && !/[ \t]\n/.test(text);
}

/** Without what is undefined, at every depth. */
export function omitUndefinedDeep(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(omitUndefinedDeep);
  if (typeof value !== 'object' || value === null || value instanceof Verbatim) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]): [string, unknown][] =>
      item === undefined ? [] : [[key, omitUndefinedDeep(item)]],
    ),
  );
}
