import { REDACTED, Redactor } from './redaction/redactor.ts';
import { secretWords } from './redaction/secret-words.ts';
import { observeSecrets, Secret } from './secret.ts';
import type { SensitiveText } from './sensitive.ts';
import { Verbatim } from './verbatim.ts';

/**
 * The redactor of this process, which is one run of the agent: every new secret is registered with it. Only the agent
 * loads this file. The library does not, and keeps nothing of the documents that it reads.
 */
const redactor = new Redactor();
observeSecrets((value) => redactor.learn(value));

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

/** Applies `redact` to every string inside a JSON-like value. */
export function redactDeep<T>(value: T): T;
export function redactDeep(value: unknown): unknown {
  if (typeof value === 'string') return redact(value);
  if (value instanceof Secret) return REDACTED;
  if (value instanceof Verbatim) return redact(value.text) === value.text ? value : REDACTED;
  if (Array.isArray(value)) return value.map((item: unknown) => redactDeep(item));
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactDeep(item)]));
  }
  return value;
}
