import { observeSecrets, Secret } from '../secrets/secret.ts';
import { Verbatim } from '../values/verbatim.ts';
import { REDACTED, Redactor } from './redactor.ts';
import { secretWords } from './secret-words.ts';
import type { SensitiveText } from './sensitive.ts';

/**
 * The redactor of this process, which is one run of the agent: every new secret is registered with it. Only the agent
 * loads this file. The library does not, and keeps nothing of the documents that it reads.
 */
const redactor = new Redactor();
observeSecrets(learn);

/** Redacts a secret from now on. */
export function learn(secret: string): void {
  redactor.learn(secret);
}

/** From now on, probable secrets in a text that may contain some are redacted everywhere. */
export function redactFromNowOn(texts: readonly SensitiveText[]): void {
  for (const { text, isSecret } of texts) {
    if (isSecret) redactor.learn(text);
    for (const word of secretWords(text)) redactor.learn(word);
  }
}

/** Removes all secrets from text. Applied to all output of the process. */
export function redact(text: string): string {
  return redactor.redact(text);
}

/** Registers a random-looking word that is not secret: the id of a public key. */
export function publish(word: string): void {
  redactor.publish(word);
}

/**
 * Applies `redact` to every string inside a JSON-like value.
 *
 * @param clean what an earlier call returned, which is not searched again and comes back as it is
 */
export function redactDeep<T>(value: T, clean?: WeakSet<object>): T;
export function redactDeep(value: unknown, clean?: WeakSet<object>): unknown {
  if (typeof value === 'string') return redact(value);
  if (value instanceof Secret) return REDACTED;
  if (value instanceof Verbatim) return redact(value.text) === value.text ? value : REDACTED;
  if (value === null || typeof value !== 'object' || clean?.has(value) === true) return value;
  const redacted: object = Array.isArray(value)
    ? value.map((item: unknown) => redactDeep(item, clean))
    : Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactDeep(item, clean)]));
  clean?.add(redacted);
  return redacted;
}

/** The parts of a value that changes little by little: each is searched once, and again when another secret is known. */
export class RedactedParts {
  #clean = new WeakSet<object>();
  #secrets = 0;

  /** As `redactDeep`, for a value that holds parts of what an earlier call returned. Nobody may change these. */
  redact<T>(value: T): T {
    if (this.#secrets !== redactor.secrets) this.#clean = new WeakSet();
    this.#secrets = redactor.secrets;
    return redactDeep(value, this.#clean);
  }
}
