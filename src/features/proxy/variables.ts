import { holdsCredentials, proxyUrlProblem } from '@machineadm/document/host-parts/proxy-url.ts';
import type { ProxyModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { UnmetRequirement } from '../../step/index.ts';

/** The resolved URLs of the document. */
export interface ProxyUrls {
  readonly http: string | undefined;
  readonly https: string | undefined;
}

/**
 * Resolves the URLs, and registers their secrets. undefined: resolving one has side effects on a read-only host. Throws
 * `ProxyInvalid` or `SecretUnavailable`.
 */
export async function proxyUrls(host: QueryHost, proxy: ProxyModel): Promise<ProxyUrls | undefined> {
  const urls: { http: string | undefined; https: string | undefined } = { http: undefined, https: undefined };
  for (const key of ['http', 'https'] as const) {
    const value = proxy[key];
    if (value === undefined) continue;
    const secret = await host.secret(value);
    if (secret === undefined) return undefined;
    const text = secret.reveal();
    const problem = proxyUrlProblem(text);
    if (problem !== undefined) throw invalid(`host.proxy.${key} is not the URL of a proxy: ${problem}.`);
    if (holdsCredentials(text)) {
      if (proxy.for.includes('environment')) throw wouldBeShown(key);
      hideCredentials(text);
    }
    urls[key] = text;
  }
  return urls;
}

/**
 * Why the proxy cannot be configured, where resolving its URLs fails. Sources that an early hook may provide are
 * checked after it ran.
 */
export async function missingOfProxy(
  found: Promise<unknown>,
  afterHooks: boolean,
): Promise<readonly UnmetRequirement[]> {
  try {
    await found;
    return [];
  } catch (error) {
    if (!(error instanceof MachineadmError)) throw error;
    if (error.reason === 'SecretUnavailable' && afterHooks) return [];
    return [{ reason: error.reason, what: error.message, remedy: error.remedy, scope: 'node' }];
  }
}

/** The value, or undefined while a secret of it does not exist yet: `apply` reports that. */
export async function ifSecretsExist<Value>(found: Promise<Value>): Promise<Value | undefined> {
  return await found.catch((error: unknown) => {
    if (error instanceof MachineadmError && error.reason === 'SecretUnavailable') return undefined;
    throw error;
  });
}

/**
 * The variables as lines of KEY=value, each in both spellings: curl reads only `http_proxy`, and others only upper
 * case. Two different values would be a fault that is hard to find.
 *
 * @param quote how a value is written
 */
export function proxyVariables(
  urls: ProxyUrls,
  bypass: readonly string[],
  quote: (value: string) => string = (value) => value,
): string {
  const pairs: readonly (readonly [string, string | undefined])[] = [
    ['http_proxy', urls.http],
    ['https_proxy', urls.https],
    ['no_proxy', bypass.join(',')],
  ];
  return pairs
    .flatMap(([name, value]) => {
      if (value === undefined) return [];
      return [`${name.toUpperCase()}=${quote(value)}\n`, `${name}=${quote(value)}\n`];
    })
    .join('');
}

/**
 * A value in single quotes, which a shell and systemd (systemd.exec(5), EnvironmentFile=) read alike: neither expands
 * `%` or `$` in them. A single quote itself is percent-encoded, which gives the same URL.
 */
export function singleQuoted(value: string): string {
  return `'${value.replaceAll("'", '%27')}'`;
}

/** User and password may also appear separately, and decoded, as in a proxy's log or an error of a client. */
function hideCredentials(url: string): void {
  const [user = '', ...password] = url.slice(url.indexOf('//') + 2, url.lastIndexOf('@')).split(':');
  for (const part of [`${user}:${password.join(':')}`, password.join(':')]) {
    if (part === '') continue;
    new Secret(part);
    new Secret(decoded(part));
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function invalid(summary: string): MachineadmError {
  return new MachineadmError({
    reason: 'ProxyInvalid',
    summary,
    remedy:
      'Write it as http://proxy.example:3128, with user:password@ before the host if the proxy needs credentials.',
  });
}

function wouldBeShown(key: string): MachineadmError {
  return new MachineadmError({
    reason: 'ProxyInvalid',
    summary: `host.proxy.${key} contains credentials, and host.proxy.for has "environment". Every user could read them in /etc/environment.`,
    remedy: 'Remove "environment" from host.proxy.for, or use a proxy without credentials.',
  });
}
