import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { errnoOf } from '../files/file-error.ts';

/** The outcome of a request without a complete response. */
export type HttpFailureKind = 'name' | 'connection' | 'timeout' | 'tls' | 'proxy' | 'aborted' | 'redirect' | 'protocol';

/**
 * A request failed without a complete response. The error names the server and the path only: a query may contain a
 * token.
 */
export class HttpError extends MachineadmError {
  readonly kind: HttpFailureKind;

  constructor(kind: HttpFailureKind, what: string, why: string, cause?: unknown) {
    super({
      reason: kind === 'proxy' ? 'ProxyConnectFailed' : 'HTTPRequestFailed',
      summary: `${what}: ${why}`,
      remedy: REMEDIES[kind],
      evidence: [{ source: what, text: why }],
      // Names get registered, servers start and proxies recover; an untrusted certificate stays untrusted.
      retryable: !['tls', 'aborted', 'redirect', 'protocol'].includes(kind),
      exit: 'HostStepFailed',
      cause,
    });
    this.name = 'HttpError';
    this.kind = kind;
  }
}

const REMEDIES: Readonly<Record<HttpFailureKind, string>> = {
  name: 'Check the name in the URL and the resolver of this machine ("getent hosts NAME").',
  connection: 'Check that the server runs and that a firewall lets this machine reach it.',
  timeout: 'Check that the server answers and that a firewall lets this machine reach it.',
  tls: 'Trust the CA of the server with host.certificateAuthorities, or correct the URL.',
  proxy: 'Check host.proxy and that the proxy runs; hosts under host.proxy.no are reached without it.',
  aborted: 'Run again.',
  redirect: 'Name the final URL, or fix the redirect of the server.',
  protocol: 'Check that the URL leads to the server that is meant.',
};

/** Converts an error of undici or of Node's sockets. */
export function httpError(what: string, cause: unknown, proxy: string | undefined): HttpError {
  if (cause instanceof HttpError) return cause;
  const code = errnoOf(cause) ?? '';
  const through = proxy === undefined ? '' : ` (through the proxy ${proxy})`;
  const text = errorMessage(cause);
  const nameUnknown = code === 'ENOTFOUND' || code === 'EAI_AGAIN';
  if (proxy !== undefined && isProxyFailure(code, text)) {
    return new HttpError('proxy', what, `the proxy ${proxy} cannot be used: ${text}`, cause);
  }
  if (nameUnknown) return new HttpError('name', what, `its name cannot be resolved (${code})`, cause);
  if (/TIMEOUT|ETIMEDOUT/.test(code) || isTimeout(cause)) {
    return new HttpError('timeout', what, `no answer in time${through}`, cause);
  }
  if (isTls(code)) return new HttpError('tls', what, `the server's certificate is not accepted: ${text}`, cause);
  if (code === 'UND_ERR_ABORTED' || isAbort(cause)) return new HttpError('aborted', what, 'it was aborted', cause);
  if (/^(E[A-Z]+|UND_ERR_SOCKET)$/.test(code)) {
    return new HttpError('connection', what, `${text}${through}`, cause);
  }
  return new HttpError('protocol', what, `${text}${through}`, cause);
}

function isProxyFailure(code: string, text: string): boolean {
  return (
    /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/.test(code) ||
    /^Proxy response/.test(text)
  );
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError';
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

/** Codes of Node's TLS (doc/api/tls.md, X509 certificate error codes) and of OpenSSL. */
function isTls(code: string): boolean {
  return /CERT|^ERR_TLS_|^ERR_SSL_|UNABLE_TO_|HOSTNAME_MISMATCH|^UNSPECIFIED$|INVALID_CA|INVALID_PURPOSE/.test(code);
}
