import { MachineadmError } from '../document/errors.ts';
import type { MetadataProvider } from '../document/variables.ts';
import { createHttpClient, type HttpAnswer, type HttpClient, readBody } from './http.ts';
import { HttpError } from './http-error.ts';
import { retry } from './retry.ts';

export interface MetadataServiceOptions {
  /** Where the service answers; default: the link-local address that all four clouds use. */
  readonly address?: string;
  readonly connectTimeoutMs?: number;
  /** How long one question may take with all that it needs, attempts included; default 10 s. */
  readonly totalMs?: number;
}

/** What a metadata service says to a path; undefined value: it has nothing there. */
export interface MetadataAnswer {
  readonly value: string | undefined;
  /** What there is beside it. */
  readonly known: readonly string[];
}

/** AWS, GCP and Azure: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html and the like. */
const ADDRESS = 'http://169.254.169.254';
const CONNECT_TIMEOUT_MS = 2_000;
const TOTAL_MS = 10_000;
const LIMIT_BYTES = 1024 * 1024;
const AWS_TOKEN_SECONDS = 300;
/** The oldest version that has all instance fields in use and is in every Azure cloud. */
const AZURE_VERSION = '2021-02-01';

/**
 * Metadata services of clouds, asked as each wants it. Never through a proxy: it would answer for its own machine.
 * Throws `MetadataUnavailable` for one that does not answer in time or refuses.
 */
export class MetadataService {
  readonly #address: string;
  readonly #totalMs: number;
  readonly #client: HttpClient;
  #awsToken: Promise<string> | undefined;

  constructor(options: MetadataServiceOptions = {}) {
    this.#address = options.address ?? ADDRESS;
    this.#totalMs = options.totalMs ?? TOTAL_MS;
    this.#client = createHttpClient({
      proxy: undefined,
      certificateAuthorities: [],
      connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    });
  }

  /** The value at a path, in the words of the provider: `placement/region`, `instance/zone`, `compute/vmId`, `uuid`. */
  async lookUp(provider: MetadataProvider, path: string): Promise<MetadataAnswer> {
    const deadline = AbortSignal.timeout(this.#totalMs);
    try {
      // Services are not there in the first moment of a boot, and throttle (HTTP 429) when much asks at once.
      return await retry(() => this.#ask(provider, path.replace(/^\/+/, ''), deadline), {
        budgetMs: this.#totalMs,
        signal: deadline,
        isRetryable: (error) => error instanceof HttpError && error.retryable && !deadline.aborted,
      });
    } catch (error) {
      throw unavailable(provider, path, this.#address, error);
    }
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

  /** IMDSv2: a session token first (a PUT, which open proxies do not pass on). It is no secret of the document. */
  async #tokenOfAws(signal: AbortSignal): Promise<string> {
    this.#awsToken ??= this.#requestAwsToken(signal);
    try {
      return await this.#awsToken;
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
    const above = path.includes('/') ? path.slice(0, path.lastIndexOf('/') + 1) : '';
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

/** A value by a path of names, separated by "/", or by "." where there is no "/"; numbers are places in a list. */
function inJson(text: string | undefined, path: string): MetadataAnswer {
  let node: unknown = text === undefined ? undefined : parseJson(text);
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new HttpError('protocol', 'the metadata service', 'its answer is not JSON', error);
  }
}

async function textOf(answer: HttpAnswer, url: string): Promise<string> {
  return new TextDecoder().decode(await readBody(answer, LIMIT_BYTES, url));
}

function statusError(url: string, status: number): HttpError {
  return new HttpError(status === 429 || status >= 500 ? 'connection' : 'protocol', url, `it answers HTTP ${status}`);
}

function unavailable(provider: MetadataProvider, path: string, address: string, cause: unknown): MachineadmError {
  const why = cause instanceof HttpError ? (cause.evidence[0]?.text ?? cause.message) : 'no answer in time';
  return new MachineadmError({
    reason: 'MetadataUnavailable',
    summary: `the metadata service of ${provider} does not tell ${path}: ${why}`,
    remedy:
      `Check from this machine that ${address} answers: that it is a machine of ${provider}, that its metadata ` +
      'service is enabled, and that neither a firewall nor a hop limit is in the way.',
    evidence: [{ source: address, text: why }],
    retryable: true,
    cause,
  });
}
