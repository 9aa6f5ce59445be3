import type { Finding } from '../diagnostics/index.ts';
import { all, any, atLeastOne, contains, given, must, not, text, VARIABLE, when } from '../fields/conditions.ts';
import { choice, field, object } from '../fields/field.ts';
import { secret } from '../fields/types.ts';
import {
  ENVIRONMENT_FILE,
  openrcConfigurationPath,
  PROXY_DROP_IN,
  PROXY_FILE,
  PROXY_SERVICES,
  unitDropInPath,
} from '../ownership/paths.ts';
import * as z from '../schema/zod.ts';
import type { SecretValue } from '../secrets/secret.ts';
import { claimsOn, hostPart } from './part.ts';
import { holdsCredentials, proxyUrlProblem } from './proxy-url.ts';

export interface ProxyModel {
  /** May hold credentials. */
  readonly http: SecretValue | undefined;
  readonly https: SecretValue | undefined;
  /** Hosts, domains and subnets that are reached directly, beside those that always are. */
  readonly no: readonly string[];
  readonly for: readonly ProxyUser[];
}

export type ProxyUser = 'agent' | 'containerd' | 'kubelet' | 'environment';

const PROXY_PART = "[A-Za-z0-9\\-._~\\[\\]!$&'()*+,;=%";
const PROXY_URL = new RegExp(`^https?:\\/\\/(?:${PROXY_PART}:]*@)?${PROXY_PART}]${PROXY_PART}:]*\\/?$`);

export const proxy = hostPart({
  description: 'The HTTP proxy of the machine. At least http or https is required.',
  absent: 'no proxy is configured',
  changes:
    '`/etc/machineadm/proxy.env`, `/etc/environment`, and drop-ins of containerd and the kubelet; on Windows the environment of the machine and of both services in the registry',
  example: { https: 'http://proxy.example:3128', no: ['.example'] },
  schema: object(
    {
      http: field(
        secret,
        'The URL of the proxy for http requests. It may contain credentials, so it is treated as a secret.',
        { absent: 'http requests go directly', example: 'http://proxy.example:3128' },
      ),
      https: field(
        secret,
        'The URL of the proxy for https requests. It may contain credentials, so it is treated as a secret.',
        { absent: 'https requests go directly', example: 'http://proxy.example:3128' },
      ),
      no: field(
        z.array(z.string().regex(/^[^\s,]+$/, 'one host, domain or subnet an entry')),
        'Hosts, domains and subnets that are reached directly, beside this machine, the cluster and the metadata addresses.',
        { default: [], example: ['.example', '10.0.0.0/8'] },
      ),
      for: field(
        z.array(
          choice({
            agent: 'machineadm itself and what it starts.',
            containerd: 'containerd, for images.',
            kubelet: 'The kubelet.',
            environment: '/etc/environment, which every user can read.',
          }),
        ),
        'The programs that use the proxy. environment writes it to /etc/environment, which every user can read.',
        { default: ['agent', 'containerd', 'kubelet'], example: ['agent', 'containerd'] },
      ),
    },
    () => {
      const url = any({ type: 'object' }, VARIABLE, text(PROXY_URL));
      const withoutCredentials = any({ type: 'object' }, VARIABLE, not(text(/^https?:\/\/[^/?#]*@/)));
      return [
        atLeastOne('http', 'https'),
        must('http', url),
        must('https', url),
        when(
          given('for', contains({ const: 'environment' })),
          all(must('http', withoutCredentials), must('https', withoutCredentials)),
        ),
      ];
    },
  ),
  toModel: (section, resolve): ProxyModel | undefined =>
    section && {
      http: section.http === undefined ? undefined : resolve(section.http, 'host.proxy.http'),
      https: section.https === undefined ? undefined : resolve(section.https, 'host.proxy.https'),
      no: section.no ?? [],
      for: section.for ?? ['agent', 'containerd', 'kubelet'],
    },
  claims(proxy) {
    if (proxy === undefined) return [];
    const services = PROXY_SERVICES.filter((service) => proxy.for.includes(service));
    return [
      ...claimsOn(
        'proxy',
        [],
        'file',
        PROXY_FILE,
        ...PROXY_SERVICES.map((name) => unitDropInPath(name, PROXY_DROP_IN)),
      ),
      ...claimsOn('proxy', [], 'lines', ...services.map(openrcConfigurationPath)),
      ...(proxy.for.includes('environment') ? claimsOn('proxy', [], 'lines', ENVIRONMENT_FILE) : []),
    ];
  },
  /** URLs as far as the document itself holds them, and what they are used for. They are secrets: none is shown. */
  check(proxy, { secrets = {} }) {
    const findings: Finding[] = [];
    if (proxy.http === undefined && proxy.https === undefined) {
      findings.push({
        path: [],
        message: 'no proxy is given',
        hint: 'give http, https or both',
        about: ['http', 'https'].map((name) => ['proxy', name]),
      });
    }
    for (const key of ['http', 'https'] as const) {
      const field = proxy[key];
      const source = typeof field === 'object' ? secrets[field.secret] : undefined;
      const known = source !== undefined && 'value' in source ? source.value : undefined;
      const text = typeof field === 'string' ? field : known;
      if (text === undefined) continue;
      const problem = proxyUrlProblem(text);
      if (problem !== undefined) {
        const message = `not the URL of a proxy: ${problem}`;
        findings.push({ path: [key], message, hint: 'http://proxy.example:3128' });
      } else if (holdsCredentials(text) && proxy.for?.includes('environment') === true) {
        findings.push({
          path: [key],
          message: 'contains credentials, and "environment" writes it to /etc/environment, which every user can read',
          hint: 'remove "environment" from host.proxy.for, or use a proxy without credentials',
        });
      }
    }
    return findings;
  },
});

export type ProxySection = z.infer<typeof proxy.schema>;
