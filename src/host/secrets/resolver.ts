import { createHash } from 'node:crypto';
import { utf8Text } from '@machineadm/document/encodings/decode.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { hasEffects, Secret, type SecretSource, type SecretValue } from '@machineadm/document/secrets/secret.ts';
import { awsSecret } from '../cloud/aws-secrets.ts';
import { MetadataService } from '../cloud/metadata-service.ts';
import { describeKill, killOf } from '../commands/killed.ts';
import { readBody, redactedRequest } from '../http/client.ts';
import { HttpError } from '../http/error.ts';
import { type RetryOptions, retry } from '../http/retry.ts';
import type { Command, CommandResult } from '../seam/host.ts';
import type { HttpClient } from '../seam/http.ts';
import { resolveSecret, type SecretPlaces, secretUnavailable } from './resolve.ts';

export type ResolveSecret = (value: SecretValue) => Promise<Secret>;

/** Resources for secrets whose resolution has side effects. */
export interface SecretEffects {
  readonly run: (command: Command) => Promise<CommandResult>;
  /** The client of this run; created for the first secret that needs it. */
  readonly http: () => Promise<HttpClient>;
  readonly metadata?: MetadataService;
  readonly places?: SecretPlaces;
  /** Replaced by tests: the pauses between attempts. */
  readonly pauses?: Pick<RetryOptions, 'wait' | 'random' | 'now'>;
}

const LIMIT_BYTES = 1024 * 1024;
const RETRY_BUDGET_MS = 30_000;
const ATTEMPT_MS = 10_000;
const EVIDENCE_LINES = 5;

/**
 * Resolves any secret. One with side effects is resolved once: the same reference makes no second request and starts no
 * program twice. A server that timed out is not tried again; other failures are not cached. Throws `SecretUnavailable`.
 */
export function secretResolver(effects: SecretEffects): ResolveSecret {
  const found = new Map<SecretValue, Promise<Secret>>();
  const metadata = effects.metadata ?? new MetadataService();
  const resolve: ResolveSecret = async (value) => {
    if (!hasEffects(value.source)) {
      const secret = await resolveSecret(value, effects.places);
      if (secret !== undefined) return secret;
    }
    const known = found.get(value);
    if (known !== undefined) return await known;
    const asked = resolveFrom(value, effects, metadata, resolve);
    found.set(value, asked);
    try {
      return await asked;
    } catch (error) {
      if (!(error instanceof MachineadmError && error.cause instanceof HttpError && error.cause.retryable))
        found.delete(value);
      throw error;
    }
  };
  return resolve;
}

async function resolveFrom(
  value: SecretValue,
  effects: SecretEffects,
  metadata: MetadataService,
  resolve: ResolveSecret,
): Promise<Secret> {
  const { source } = value;
  const again = <T>(attempt: () => Promise<T>) =>
    retry(attempt, {
      budgetMs: RETRY_BUDGET_MS,
      isRetryable: (error) => error instanceof HttpError && error.retryable,
      ...effects.pauses,
    });
  const place = placeOf(source);
  try {
    switch (source.kind) {
      case 'exec':
        return secretOf(await printed(value, source, effects), value, place);
      case 'http': {
        const headers: Record<string, string> = {};
        for (const [name, header] of Object.entries(source.headers)) headers[name] = (await resolve(header)).reveal();
        const client = await effects.http();
        return secretOf(await again(() => fetched(value, source, headers, client)), value, place);
      }
      case 'awsSecretsManager':
      case 'awsParameter': {
        const client = await effects.http();
        return secretOf(await again(() => awsSecret(source, client, metadata)), value, place);
      }
      default:
        throw new TypeError(`a ${source.kind} secret has no effects`);
    }
  } catch (error) {
    if (!(error instanceof MachineadmError) || error.reason === 'SecretUnavailable') throw error;
    const kill = killOf(error);
    const why = kill === undefined ? (error.evidence[0]?.text ?? error.message) : `it ${describeKill(kill)}`;
    throw secretUnavailable(value, place, why, error);
  }
}

/** The output of a program, without one trailing newline. Its error output is evidence, redacted. */
async function printed(
  value: SecretValue,
  source: Extract<SecretSource, { readonly kind: 'exec' }>,
  effects: SecretEffects,
): Promise<string> {
  const [program = '', ...args] = source.command;
  const place = placeOf(source);
  // Only the tail of the output is kept, so truncated output has exactly this length.
  const result = await effects.run({ program, args, timeoutMs: source.timeoutMs, supervised: true });
  const evidence = redact(result.stderr)
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .slice(-EVIDENCE_LINES)
    .map((text) => ({ source: program, text }));
  if (result.timedOut) {
    throw secretUnavailable(value, place, `it did not end within ${source.timeoutMs / 1000} s`, undefined, evidence);
  }
  if (result.status !== 0) {
    throw secretUnavailable(value, place, `it ended with status ${result.status}`, undefined, evidence);
  }
  if (Buffer.byteLength(result.stdout) >= LIMIT_BYTES) throw secretUnavailable(value, place, 'it prints 1 MiB or more');
  return result.stdout.replace(/\r?\n$/, '');
}

async function fetched(
  value: SecretValue,
  source: Extract<SecretSource, { readonly kind: 'http' }>,
  headers: Readonly<Record<string, string>>,
  client: HttpClient,
): Promise<string> {
  const place = placeOf(source);
  const answer = await client.request({ url: source.url, headers, totalMs: ATTEMPT_MS });
  const body = await readBody(answer, LIMIT_BYTES, place);
  if (answer.status !== 200) {
    const again = answer.status === 429 || answer.status >= 500;
    throw new HttpError(again ? 'connection' : 'protocol', place, `it answers HTTP ${answer.status}`);
  }
  if (source.sha256 !== undefined && createHash('sha256').update(body).digest('hex') !== source.sha256) {
    throw secretUnavailable(value, place, 'its answer has another SHA-256 than the document says');
  }
  const text = utf8Text(body);
  if (text === undefined) throw secretUnavailable(value, place, 'its answer is not UTF-8 text');
  if (source.pointer === undefined) return text.replace(/\r?\n$/, '');
  const part = atPointer(text, source.pointer);
  if (part === undefined) throw secretUnavailable(value, place, `its answer has no text at ${source.pointer}`);
  return part;
}

/** The string or number at an RFC 6901 pointer; undefined for anything else. */
function atPointer(text: string, pointer: string): string | undefined {
  let node: unknown;
  try {
    node = JSON.parse(text);
  } catch {
    return undefined;
  }
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (node === null || typeof node !== 'object' || !Object.hasOwn(node, name)) return undefined;
    node = Reflect.get(node, name);
  }
  return typeof node === 'string' ? node : typeof node === 'number' ? String(node) : undefined;
}

function placeOf(source: SecretSource): string {
  switch (source.kind) {
    case 'exec':
      return `the program ${source.command[0] ?? ''}`;
    case 'http':
      return redactedRequest('GET', source.url);
    case 'awsSecretsManager':
      return `AWS Secrets Manager (${source.secretId})`;
    case 'awsParameter':
      return `the AWS parameter ${source.name}`;
    default:
      return source.kind;
  }
}

function secretOf(text: string | undefined, value: SecretValue, place: string): Secret {
  if (text === undefined) throw secretUnavailable(value, place, 'it has no such value');
  if (text === '') throw secretUnavailable(value, place, 'it is empty');
  return new Secret(text);
}
