import type { Finding } from '../../diagnostics.ts';
import { holdsCredentials, proxyUrlProblem } from '../../proxy-url.ts';
import type { Sections } from './sections.ts';

/** URLs of proxies as far as the document itself holds them, and what they are used for. They are secrets: none is shown. */
export function checkProxy({ host, secrets }: Sections): Finding[] {
  const proxy = host?.proxy;
  if (proxy === undefined) return [];
  const findings: Finding[] = [];
  if (proxy.http === undefined && proxy.https === undefined) {
    const path = ['host', 'proxy'];
    findings.push({ path, message: 'no proxy is given', hint: 'give http, https or both', about: [...path, 'http'] });
  }
  for (const key of ['http', 'https'] as const) {
    const field = proxy[key];
    const source = typeof field === 'object' ? secrets?.[field.secret] : undefined;
    const text =
      typeof field === 'string' ? field : source !== undefined && 'value' in source ? source.value : undefined;
    if (text === undefined) continue;
    const path = ['host', 'proxy', key];
    const problem = proxyUrlProblem(text);
    if (problem !== undefined) {
      findings.push({ path, message: `not the URL of a proxy: ${problem}`, hint: 'http://proxy.example:3128' });
    } else if (holdsCredentials(text) && proxy.for?.includes('environment') === true) {
      findings.push({
        path,
        message: 'holds credentials, and "environment" writes it to /etc/environment, which everybody may read',
        hint: 'leave "environment" out of host.proxy.for, or give a proxy without credentials',
      });
    }
  }
  return findings;
}
