import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import type { MetadataProvider } from '@machineadm/document/trees/variables.ts';
import { stringAt } from '@machineadm/document/values/untyped.ts';
import { createHttpClient, parseJson, readBody } from '../http/client.ts';
import { HttpError } from '../http/error.ts';
import { retry } from '../http/retry.ts';
import type { HttpAnswer, HttpClient } from '../seam/http.ts';

export interface MetadataServiceOptions {
  /** The service's address; default: the link-local address that all four clouds use. */
  readonly address?: string;
  /** Time limit of one query with all its requests and retries; default 10 s. */
  readonly totalMs?: number;
}

/** The answer of a metadata service for a path; undefined value: nothing there. */
export interface MetadataAnswer {
  readonly value: string | undefined;
  /** The existing names beside it. */
  readonly known: readonly string[];
}

/** AWS, GCP and Azure: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html and the like. */
const ADDRESS = 'http://169.254.169.254';
const CONNECT_TIMEOUT_MS = 2_000;
const TOTAL_MS = 10_000;
const LIMIT_BYTES = 1024 * 1024;
const AWS_TOKEN_SECONDS = 300;
const AWS_TOKEN_RESERVE_SECONDS = 60;
/** The oldest version that has all the instance fields we use and exists in every Azure cloud. */
const AZURE_VERSION = '2021-02-01';
const AZURE_TOKEN_VERSION = '2018-02-01';

/**
 * Clients of the clouds' metadata services. Never use a proxy: the answer would describe the proxy's machine. Throw
 * `MetadataUnavailable` for a timeout or a refusal.
 */
export class MetadataService {
  readonly #address: string;
  readonly #totalMs: number;
  readonly #client: HttpClient;
  #awsToken: { readonly value: Promise<string>; readonly renewAtMs: number } | undefined;

  constructor(options: MetadataServiceOptions = {}) {
    this.#address = options.address ?? ADDRESS;
    this.#totalMs = options.totalMs ?? TOTAL_MS;
    this.#client = createHttpClient({
      proxy: undefined,
      certificateAuthorities: [],
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
    });
  }

  /** The value at a path, spelled as the provider does: `placement/region`, `instance/zone`, `compute/vmId`, `uuid`. */
  async lookUp(provider: MetadataProvider, path: string, until?: AbortSignal): Promise<MetadataAnswer> {
    const relative = path.replace(/^\/+/, '');
    return await this.#patiently(provider, path, until, (signal) => this.#ask(provider, relative, signal));
  }

  async #patiently<T>(
    provider: MetadataProvider,
    path: string,
    until: AbortSignal | undefined,
    ask: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const timeout = AbortSignal.timeout(this.#totalMs);
    const deadline = until === undefined ? timeout : AbortSignal.any([timeout, until]);
    try {
      // Services are not available in the first moments of a boot, and throttle (HTTP 429) under load.
      return await retry(() => ask(deadline), {
        budgetMs: this.#totalMs,
        signal: deadline,
        isRetryable: (error) => error instanceof HttpError && error.retryable && !deadline.aborted,
      });
    } catch (error) {
      throw unavailable(provider, path, this.#address, error);
    }
  }

  /**
   * A token of the machine's own identity for a service of its cloud.
   * gcp: for the machine's service account `account` (default: `default`). azure: for `audience`, of the identity with
   * the client id `account`; default: the system-assigned one, or the only one.
   * https://cloud.google.com/compute/docs/access/authenticate-workloads,
   * https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token
   */
  async identityToken(
    provider: 'gcp' | 'azure',
    options: { readonly audience?: string; readonly account?: string | undefined; readonly until?: AbortSignal } = {},
  ): Promise<Secret> {
    const { audience = '', account, until } = options;
    const asked =
      provider === 'gcp'
        ? `/computeMetadata/v1/instance/service-accounts/${account ?? 'default'}/token`
        : `/metadata/identity/oauth2/token?api-version=${AZURE_TOKEN_VERSION}&resource=${encodeURIComponent(audience)}` +
          (account === undefined ? '' : `&client_id=${encodeURIComponent(account)}`);
    const headers: Record<string, string> = provider === 'gcp' ? { 'metadata-flavor': 'Google' } : { metadata: 'true' };
    const text = await this.#patiently(provider, 'a token', until, (signal) => this.#get(asked, headers, signal));
    const token = text === undefined ? undefined : stringAt(parseJson(text, 'the metadata service'), 'access_token');
    if (token !== undefined && token !== '') return new Secret(token);
    const missing = new HttpError('protocol', this.#address, 'this machine has no such identity');
    throw unavailable(provider, 'a token', this.#address, missing);
  }

  async #ask(provider: MetadataProvider, path: string, signal: AbortSignal): Promise<MetadataAnswer> {
    switch (provider) {
      case 'aws': {
        const headers = { 'x-aws-ec2-metadata-token': await this.#tokenOfAws(signal) };
        const root = /^(?:meta-data|dynamic|user-data)(?:\/|$)/.test(path) ? '/latest/' : '/latest/meta-data/';
        return await this.#textTree(root, path, headers, signal);
      }
      case 'gcp':
        return await this.#textTree('/computeMetadata/v1/', path, { 'metadata-flavor': 'Google' }, signal);
      case 'azure': {
        const headers = { metadata: 'true' };
        return inJson(
          await this.#get(`/metadata/instance?api-version=${AZURE_VERSION}&format=json`, headers, signal),
          path,
        );
      }
      case 'openstack':
        // https://docs.openstack.org/nova/latest/user/metadata.html
        return inJson(await this.#get('/openstack/latest/meta_data.json', {}, signal), path);
    }
  }

  /**
   * IMDSv2: requests a session token first (a PUT, which open proxies do not forward). It is not a secret of the
   * document.
   */
  async #tokenOfAws(signal: AbortSignal): Promise<string> {
    // Renewed before it expires: the deliverer runs longer than a token is valid.
    const now = performance.now();
    if (this.#awsToken === undefined || this.#awsToken.renewAtMs <= now) {
      const renewAtMs = now + (AWS_TOKEN_SECONDS - AWS_TOKEN_RESERVE_SECONDS) * 1000;
      this.#awsToken = { value: this.#requestAwsToken(signal), renewAtMs };
    }
    try {
      return await this.#awsToken.value;
    } catch (error) {
      this.#awsToken = undefined;
      throw error;
    }
  }

  async #requestAwsToken(signal: AbortSignal): Promise<string> {
    const url = `${this.#address}/latest/api/token`;
    const headers = { 'x-aws-ec2-metadata-token-ttl-seconds': String(AWS_TOKEN_SECONDS) };
    const answer = await this.#client.request({ url, method: 'PUT', headers, signal });
    const token = await textOf(answer, url);
    if (answer.status !== 200) throw statusError(url, answer.status);
    return token.trim();
  }

  async #textTree(
    root: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<MetadataAnswer> {
    const value = await this.#get(root + path, headers, signal);
    if (value !== undefined) return { value, known: [] };
    const above = path.slice(0, path.lastIndexOf('/') + 1);
    const listing = await this.#get(root + above, headers, signal);
    return { value: undefined, known: (listing ?? '').split('\n').filter((line) => line !== '') };
  }

  async #get(
    path: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const url = this.#address + path;
    const answer = await this.#client.request({ url, headers, signal });
    const text = await textOf(answer, url);
    if (answer.status === 404) return undefined;
    if (answer.status !== 200) throw statusError(url, answer.status);
    return text;
  }
}

/** The value at a path of names, separated by "/", or by "." if there is no "/"; numbers are list indices. */
function inJson(text: string | undefined, path: string): MetadataAnswer {
  let node: unknown = text === undefined ? undefined : parseJson(text, 'the metadata service');
  let known = namesIn(node);
  for (const name of path.split(path.includes('/') ? '/' : '.').filter((part) => part !== '')) {
    known = namesIn(node);
    node = node !== null && typeof node === 'object' && Object.hasOwn(node, name) ? Reflect.get(node, name) : undefined;
  }
  if (typeof node === 'string') return { value: node, known: [] };
  if (typeof node === 'number' || typeof node === 'boolean') return { value: String(node), known: [] };
  const below = namesIn(node).map((name) => `${path}/${name}`);
  return { value: undefined, known: below.length === 0 ? known : below };
}

function namesIn(node: unknown): readonly string[] {
  return node !== null && typeof node === 'object' ? Object.keys(node) : [];
}

async function textOf(answer: HttpAnswer, url: string): Promise<string> {
  return new TextDecoder().decode(await readBody(answer, LIMIT_BYTES, url));
}

function statusError(url: string, status: number): HttpError {
  // 410: Azure updates its service, for 70 s at most (how-to-use-vm-token, "Retry guidance").
  return new HttpError(
    status === 429 || status === 410 || status >= 500 ? 'connection' : 'protocol',
    url,
    `it answers HTTP ${status}`,
  );
}

function unavailable(provider: MetadataProvider, path: string, address: string, cause: unknown): MachineadmError {
  const why = cause instanceof HttpError ? (cause.evidence[0]?.text ?? cause.message) : 'no answer in time';
  return new MachineadmError({
    reason: 'MetadataUnavailable',
    summary: `the metadata service of ${provider} does not return ${path}: ${why}`,
    remedy:
      `Check from this machine that ${address} answers: that it is a machine of ${provider}, that its metadata ` +
      'service is enabled, and that neither a firewall nor a hop limit is in the way.',
    evidence: [{ source: address, text: why }],
    retryable: true,
    cause,
  });
}
