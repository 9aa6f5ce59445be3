import { createHash } from 'node:crypto';
import type { KubernetesObject, SecretObject } from '../cluster/objects.ts';
import type { Profile } from '../profiles.ts';
import { type ConvertedSecret, decoded, formatOf } from './translate.ts';

/**
 * Conversions of machines of one template. Their inputs differ in a few words only: the bootstrap token, and the name and uid
 * of the machine. They are cached without these words.
 *
 * That the result depends on the words only as text is never assumed: a result is used again after two conversions with
 * different words gave the same text around them.
 */
export class ConversionCache {
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  /** The conversion, or what it gave for another machine of the same template. */
  async through(
    args: readonly [SecretObject, readonly KubernetesObject[], Profile],
    convert: () => Promise<ConvertedSecret>,
  ): Promise<ConvertedSecret> {
    const [secret, related, profile] = args;
    const words = wordsOf(secret, related);
    if (words === undefined) return await convert();
    const own = joined(words);
    const key = keyOf(secret, related, profile, words);
    const known = this.#entries.get(key);
    if (known?.isProven === true) {
      this.#entries.delete(key);
      this.#entries.set(key, known);
      return { ...known.converted, yaml: withWords(known.converted.yaml, words) };
    }
    const converted = await convert();
    const yaml = withoutWords(converted.yaml, words);
    if (known === undefined) this.#add(key, { words: own, isProven: false, converted: { ...converted, yaml } });
    else if (known.words !== own && known.converted.yaml === yaml) known.isProven = true;
    return converted;
  }

  #add(key: string, entry: Entry): void {
    this.#entries.set(key, entry);
    this.#bytes += entry.converted.yaml.length;
    for (const [oldest, { converted }] of this.#entries) {
      if (this.#bytes <= MOST_BYTES) return;
      this.#entries.delete(oldest);
      this.#bytes -= converted.yaml.length;
    }
  }
}

interface Entry {
  /** Those of the first conversion. */
  readonly words: string;
  isProven: boolean;
  /** With places instead of the words. */
  readonly converted: ConvertedSecret;
}

const MOST_BYTES = 8 * 1024 * 1024;
/** A bootstrap token (k8s bootstrap tokens). */
const TOKEN = /\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g;
/** Neither a number nor another special word of YAML: it is written without quotes, whichever it is. */
const PLAIN_TOKEN = /^(?=.*[g-wyz])[a-z0-9]{6}\.[a-z0-9]{16}$/;
const PLAIN_NAME = /^[a-z][a-z0-9]*-[a-z0-9-]*[a-z0-9]$/;
const UID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The words that differ between machines of one template; undefined = this input is not cached. */
function wordsOf(secret: SecretObject, related: readonly KubernetesObject[]): readonly string[] | undefined {
  const text = textOf(secret);
  const { name, uid } = related[0]?.metadata ?? {};
  // Compressed user data, or a place of our own.
  if (text === undefined || text.includes(PLACE) || name === undefined || uid === undefined) return undefined;
  const names = [...new Set([name, secret.metadata.name])];
  const tokens = [...new Set(text.match(TOKEN))];
  if (!UID.test(uid) || !names.every((one) => PLAIN_NAME.test(one))) return undefined;
  if (tokens.length > 4 || !tokens.every((one) => PLAIN_TOKEN.test(one))) return undefined;
  // The longest first: one may be a part of another.
  return [uid, ...tokens, ...names.sort((a, b) => b.length - a.length)];
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

function joined(words: readonly string[]): string {
  return createHash('sha256').update(words.join(PLACE)).digest('hex');
}

function keyOf(
  { metadata, data }: SecretObject,
  related: readonly KubernetesObject[],
  profile: Profile,
  words: readonly string[],
): string {
  const objects = withoutWords(JSON.stringify([metadata, related]), words);
  const { accept, structure } = profile;
  return createHash('sha256')
    .update(JSON.stringify([objects, data?.format, accept, structure]))
    .update(withoutWords(decoded(data?.value) ?? '', words))
    .digest('hex');
}
