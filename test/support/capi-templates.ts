import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Published templates of Cluster API and its providers. They are not part of the project. */
export const TEMPLATES = resolve(import.meta.dirname, '../../../shared/data/capi-templates');

export function templateNames(): readonly string[] {
  return existsSync(TEMPLATES) ? readdirSync(TEMPLATES).filter((name) => name.endsWith('.yaml')) : [];
}

/** A template as `clusterctl generate` writes it. */
export function template(name: string, version = 'v1.35.2'): string {
  return substituted(readFileSync(join(TEMPLATES, name), 'utf8'), version);
}

export const SSH_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGf3vMTlzMFzkWEOk6ClCjQ0yNLIN1q7yYpLQqAuVo5B admin';

/** The values of an operator, who fills in what fits. */
function operatorValue(name: string, version: string): string {
  if (/KUBERNETES_VERSION$/.test(name)) return version;
  if (/(?:^|_)B64$/.test(name)) return 'aGVsbG8=';
  if (/SSH.*KEY|PUBLIC_KEY/.test(name) && !/NAME/.test(name)) return SSH_KEY;
  if (/SERVICE.*CIDR/.test(name)) return '10.96.0.0/16';
  if (/CIDR/.test(name)) return '10.0.0.0/16';
  if (/(?:_IP|_HOST|IP_ADDRESS|VIP)$/.test(name)) return '10.0.0.9';
  if (/CRI_PATH/.test(name)) return '/var/run/containerd/containerd.sock';
  // Lines of YAML that most leave out.
  if (/EXTRA_CONFIG/.test(name)) return '';
  if (/COUNT|PORT|REPLICAS|SIZE|NUM|MIB|_GB|_MTU/.test(name)) return '3';
  if (/PREFIX|NUMBER/.test(name)) return '24';
  return name.toLowerCase().replaceAll('_', '-');
}

/** The references of clusterctl (drone/envsubst): `${NAME}`, `${NAME:=default}`, `${NAME:-default}`, nested; `$$` is `$`. */
function substituted(text: string, version: string): string {
  let result = '';
  for (let at = 0; at < text.length; ) {
    if (text.startsWith('$$', at)) {
      result += '$';
      at += 2;
    } else if (text.startsWith('${', at)) {
      const end = closingBrace(text, at);
      result += expression(text.slice(at + 2, end), version) ?? text.slice(at, end + 1);
      at = end + 1;
    } else {
      result += text.charAt(at);
      at += 1;
    }
  }
  return result;
}

function closingBrace(text: string, start: number): number {
  let depth = 0;
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '{') depth++;
    if (text[at] === '}') depth--;
    if (depth === 0) return at;
  }
  return text.length;
}

function expression(inner: string, version: string): string | undefined {
  const [, name, operator, rest = ''] = /^\s*([A-Za-z_]\w*)\s*(:?[-=+?]|=|\/\/?)?([\s\S]*)$/.exec(inner) ?? [];
  if (name === undefined) return undefined;
  return operator === undefined ? operatorValue(name, version) : substituted(rest.replace(/^"(.*)"$/, '$1'), version);
}
