/** Keys of registries with credentials: containerd docs/cri/registry.md, docs/hosts.md. */
const SECRET_KEY = /^(?:auths?|username|password|identitytoken|registrytoken|authorization)$/i;
const SECRET_TABLE = /(?:^|[."'])headers?["']?$|[."']auths?["']?$/i;
const MASK = '"[redacted]"';

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
    const table = /^\s*\[+\s*(.+?)\s*\]+\s*(?:#.*)?$/.exec(line)?.[1];
    if (inValue) {
      inValue = !/\]\s*(?:#.*)?$/.test(line);
      continue;
    }
    if (table !== undefined) inSecretTable = SECRET_TABLE.test(table);
    const [, before = '', key = '', value = ''] = /^(\s*(\S.*?)\s*=\s*)(.*)$/.exec(line) ?? [];
    const name = key.split('.').at(-1)?.replace(/["']/g, '') ?? '';
    if (table !== undefined || before === '') lines.push(line);
    else if (
      inSecretTable ||
      SECRET_KEY.test(name) ||
      key.split('.').some((part) => /^["']?headers?["']?$/i.test(part))
    ) {
      lines.push(`${before}${MASK}`);
      inValue = /^\[/.test(value) && !/\]\s*(?:#.*)?$/.test(value);
    } else if (/\{.*(?:auth|password|token|header)/i.test(value)) lines.push(`${before}${MASK}`);
    else lines.push(line);
  }
  return lines.join('\n');
}
