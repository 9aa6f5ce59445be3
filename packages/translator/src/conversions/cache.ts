import { createHash } from 'node:crypto';
import type { KubernetesObject, SecretObject } from '../cluster/objects.ts';
import type { Profile } from '../handover/profiles.ts';
import { decoded, formatOf } from './secret-data.ts';
import type { CheckedDocument, ConvertedSecret, WrapOptions } from './translate.ts';

/**
 * Results for machines of one template. Their inputs differ in a few words only: the bootstrap token, and the name and uid of
 * the machine. They are cached without these words.
 *
 * That a result depends on the words only as text is never assumed: it is used again after two inputs with different words gave
 * the same text around them. The lengths of the words are a part of the key, because names are limited in length.
 */
export class TemplateCache<Result extends { readonly yaml: string }> {
  readonly #entries = new Map<string, Entry<Result>>();
  /** What is being made, by key: whether it could be made. */
  readonly #making = new Map<string, Promise<boolean>>();
  #bytes = 0;

  /**
   * The result, or what it was for another machine of the same template.
   *
   * @param input everything that it depends on
   * @param deadline ends the wait for another machine of the template
   */
  async through(
    input: string,
    words: readonly string[],
    deadline: AbortSignal,
    make: () => Promise<Result>,
  ): Promise<Result> {
    const key = digestOf(withoutWords(input, words), words.map(({ length }) => length).join());
    // A rollout creates many machines of a template at once. Until it is known, they go one after the other.
    for (let making = this.#making.get(key); making !== undefined; making = this.#making.get(key)) {
      if (this.#entries.get(key)?.proof === 'differs' || (await untilAborted(making, deadline)) !== true) break;
    }
    const known = this.#entries.get(key);
    if (known?.proof === 'same') {
      this.#entries.delete(key);
      this.#entries.set(key, known);
      return { ...known.result, yaml: withWords(known.result.yaml, words) };
    }
    const isFirst = !this.#making.has(key);
    const made = this.#make(key, words, isFirst, make);
    if (isFirst) {
      const couldBeMade = made.then(
        () => true,
        () => false,
      );
      this.#making.set(key, couldBeMade);
    }
    return await made;
  }

  async #make(key: string, words: readonly string[], isFirst: boolean, make: () => Promise<Result>): Promise<Result> {
    try {
      const result = await make();
      const own = digestOf(...words);
      const yaml = withoutWords(result.yaml, words);
      const known = this.#entries.get(key);
      if (known === undefined) this.#add(key, { words: own, proof: 'none', result: { ...result, yaml } });
      else if (known.words !== own && known.proof === 'none') {
        known.proof = known.result.yaml === yaml ? 'same' : 'differs';
      }
      return result;
    } finally {
      if (isFirst) this.#making.delete(key);
    }
  }

  #add(key: string, entry: Entry<Result>): void {
    this.#entries.set(key, entry);
    this.#bytes += entry.result.yaml.length;
    for (const [oldest, { result }] of this.#entries) {
      if (this.#bytes <= MOST_BYTES) return;
      this.#entries.delete(oldest);
      this.#bytes -= result.yaml.length;
    }
  }
}

interface Entry<Result> {
  /** Those of the first input. */
  readonly words: string;
  /** Whether an input with other words gave the same text around them. */
  proof: 'none' | 'same' | 'differs';
  /** With places instead of the words. */
  readonly result: Result;
}

/** Conversions of machines of one template. */
export class ConversionCache {
  readonly #templates = new TemplateCache<ConvertedSecret>();

  /** The conversion, or what it gave for another machine of the same template. */
  async through(
    [secret, related, profile]: readonly [SecretObject, readonly KubernetesObject[], Profile],
    deadline: AbortSignal,
    convert: () => Promise<ConvertedSecret>,
  ): Promise<ConvertedSecret> {
    const words = wordsOf(secret, related);
    if (words === undefined) return await convert();
    const { metadata, data } = secret;
    const { accept, structure } = profile;
    const input = JSON.stringify([metadata, related, data?.format, accept, structure]);
    const text = decoded(data?.value) ?? '';
    const result = await this.#templates.through(`${input}${text}`, words, deadline, convert);
    return { ...result, words };
  }
}

/** Documents of conversions, merged with a profile and the sink of a machine, and checked. */
export class CheckedDocuments {
  readonly #templates = new TemplateCache<CheckedDocument>();

  async through(
    { words, ...converted }: ConvertedSecret,
    options: WrapOptions,
    deadline: AbortSignal,
    check: () => Promise<CheckedDocument>,
  ): Promise<CheckedDocument> {
    const token = options.sink?.token;
    if (words === undefined || (token !== undefined && !PLAIN_JWT.test(token))) return await check();
    const own = token === undefined ? words : [token, ...words];
    return await this.#templates.through(JSON.stringify([converted, options]), own, deadline, check);
  }
}

/** What `promise` gives; undefined = `deadline` came first. */
async function untilAborted<T>(promise: Promise<T>, deadline: AbortSignal): Promise<T | undefined> {
  if (deadline.aborted) return undefined;
  const done = new AbortController();
  const late = new Promise<undefined>((resolve) => {
    deadline.addEventListener('abort', () => resolve(undefined), { signal: done.signal });
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    done.abort();
  }
}

const MOST_BYTES = 4 * 1024 * 1024;
/** A token of a ServiceAccount. It begins as every one does, and is written without quotes. */
const PLAIN_JWT = /^eyJ[\w-]{1,4096}\.[\w-]{1,4096}\.[\w-]{1,4096}$/;
/** A bootstrap token (k8s bootstrap tokens). */
const TOKEN = /\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g;
/** Neither a number nor another special word of YAML: it is written without quotes, whichever it is. */
const PLAIN_TOKEN = /^(?=.*[g-wyz])[a-z0-9]{6}\.[a-z0-9]{16}$/;
const PLAIN_NAME = /^[a-z][a-z0-9]*-[a-z0-9-]*[a-z0-9]$/;
/** Of each kind. */
const MOST_WORDS = 4;
const UID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The words that differ between machines of one template; undefined = this input is not cached. */
function wordsOf(secret: SecretObject, related: readonly KubernetesObject[]): readonly string[] | undefined {
  const text = textOf(secret);
  const { name, uid } = related[0]?.metadata ?? {};
  // Compressed user data, or a place of our own.
  if (text === undefined || text.includes(PLACE) || name === undefined || uid === undefined) return undefined;
  // Its KubeadmConfig is another object for each machine, too.
  const owners = secret.metadata.ownerReferences ?? [];
  const names = [...new Set([name, secret.metadata.name, ...owners.map((owner) => owner.name)])];
  const uids = [...new Set([uid, ...owners.map((owner) => owner.uid)])];
  const tokens = [...new Set(text.match(TOKEN))];
  const isFew = [uids, names, tokens].every(({ length }) => length <= MOST_WORDS);
  if (!isFew || !uids.every((one) => UID.test(one)) || !names.every((one) => PLAIN_NAME.test(one))) return undefined;
  if (!tokens.every((one) => PLAIN_TOKEN.test(one))) return undefined;
  // The longest first: one may be a part of another.
  return [...uids, ...tokens, ...names.sort((a, b) => b.length - a.length)];
}

function textOf(secret: SecretObject): string | undefined {
  try {
    formatOf(secret);
  } catch {
    return undefined;
  }
  return decoded(secret.data?.value);
}

/** Stands for the word of this index. No document and no user data may contain it (YAML allows no such character). */
const PLACE = '\u0000';
const placeOf = (index: number): string => `${PLACE}${index}${PLACE}`;

function withoutWords(text: string, words: readonly string[]): string {
  return words.reduce((rest, word, index) => rest.replaceAll(word, placeOf(index)), text);
}

function withWords(text: string, words: readonly string[]): string {
  return words.reduce((rest, word, index) => rest.replaceAll(placeOf(index), () => word), text);
}

function digestOf(...texts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(text).update(PLACE);
  return hash.digest('hex');
}
