import { trimmedEnd } from '@machineadm/document/text/trim.ts';

/** Keys of registries with credentials: containerd docs/cri/registry.md, docs/hosts.md. */
const SECRET_KEY = /^(?:auths?|username|password|identitytoken|registrytoken|authorization)$/i;
const SECRET_TABLE = /(?:^|[."'])headers?["']?$|[."']auths?["']?$/i;
const MASK = '"[redacted]"';
/** The end of a table's header or of an array, perhaps before a comment. */
const BRACKET_AT_END = /\]\s*(?:#|$)/;

/**
 * A configuration of containerd for display, line by line: values of headers and of registry credentials are masked,
 * whoever wrote them. undefined where a value spans lines in an unsupported way.
 */
export function maskedToml(text: string): string | undefined {
  if (/"""|'''/.test(text)) return undefined;
  let inSecretTable = false;
  let inValue = false;
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    if (inValue) {
      inValue = !BRACKET_AT_END.test(line);
      continue;
    }
    const table = tableIn(line);
    if (table !== undefined) inSecretTable = SECRET_TABLE.test(table);
    const [before = ''] = /^\s*[^\s=][^=]*=\s*/.exec(line) ?? [];
    const key = before.slice(0, before.indexOf('=')).trim();
    const value = line.slice(before.length);
    const name = key.split('.').at(-1)?.replace(/["']/g, '') ?? '';
    if (table !== undefined || before === '') lines.push(line);
    else if (
      inSecretTable ||
      SECRET_KEY.test(name) ||
      key.split('.').some((part) => /^["']?headers?["']?$/i.test(part))
    ) {
      lines.push(`${before}${MASK}`);
      inValue = /^\[/.test(value) && !BRACKET_AT_END.test(value);
    } else if (hasSecretTable(value)) lines.push(`${before}${MASK}`);
    else lines.push(line);
  }
  return lines.join('\n');
}

/** The name of the table that a line begins; undefined for another line. */
function tableIn(line: string): string | undefined {
  const [opening] = /^\s*\[+/.exec(line) ?? [];
  const end = opening === undefined ? null : BRACKET_AT_END.exec(line.slice(opening.length));
  if (opening === undefined || end === null) return undefined;
  return trimmedEnd(line.slice(opening.length, opening.length + end.index), ']').trim();
}

function hasSecretTable(value: string): boolean {
  const start = value.indexOf('{');
  return start >= 0 && /auth|password|token|header/i.test(value.slice(start));
}
