import { generateKeyPairSync } from 'node:crypto';
import { selfSigned } from './certificates.ts';
import { ENCODINGS } from './encodings.ts';

/** A place of a document that holds a secret which is nowhere else: found outside of its target, it came from there. */
interface Place {
  /** The path of the field in the schema, as `fieldsForSecrets` names it. */
  readonly field: string;
  /** The field, and which of several secrets in it. */
  readonly name: string;
  /** What is looked for. */
  readonly searched: string;
}

/** All in PEM. */
interface KeyPair {
  readonly certificate: string;
  readonly key: string;
  readonly publicKey: string;
}

interface Needle {
  readonly place: string;
  readonly encoding: string;
  readonly text: string;
}

/** The secrets that documents were seeded with, and the search for them. */
export class Canaries {
  readonly #places = new Map<string, Place>();
  readonly #keyPairs = new Map<string, KeyPair>();
  #needles: Needle[] | undefined;

  get fields(): ReadonlySet<string> {
    return new Set([...this.#places.values()].map(({ field }) => field));
  }

  get names(): readonly string[] {
    return [...this.#places.keys()];
  }

  /** What is looked for, in the order of the names. */
  get secrets(): readonly string[] {
    return [...this.#places.values()].map(({ searched }) => searched);
  }

  /** A secret of 24 letters and digits. @param which tells several secrets of one field from each other */
  word(field: string, which = ''): string {
    const name = nameOf(field, which);
    return this.#add(field, which, `q7${digits(name, 36, 22)}`);
  }

  /** `abcdef.0123456789abcdef`: the part before the point is public (Kubernetes prints it). */
  bootstrapToken(field: string): string {
    const name = nameOf(field);
    return `${digits(`id of ${name}`, 36, 6)}.${this.#add(field, '', digits(name, 36, 16))}`;
  }

  hexKey(field: string): string {
    return this.#add(field, '', digits(nameOf(field), 16, 64));
  }

  /** 32 bytes in base64. */
  base64Key(field: string): string {
    return this.#add(field, '', Buffer.from(digits(nameOf(field), 16, 64), 'hex').toString('base64'));
  }

  /** A private key and its certificate of an authority; what is looked for is a line of the key. */
  keyPair(field: string): KeyPair {
    const known = this.#keyPairs.get(field);
    if (known !== undefined) return known;
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    this.#add(field, '', key.split('\n')[2] ?? '');
    const day = 86_400_000;
    const [notBefore, notAfter] = [new Date(Date.now() - day), new Date(Date.now() + 3650 * day)];
    const pair: KeyPair = {
      certificate: selfSigned({ key: privateKey, publicKey, notBefore, notAfter, authority: true }),
      key,
      publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    };
    this.#keyPairs.set(field, pair);
    return pair;
  }

  /** What a text holds of them: `where: place as encoding`. */
  leaksIn(where: string, text: string): string[] {
    this.#needles ??= [...this.#places.values()].flatMap(needlesOf);
    return this.#needles
      .filter((needle) => text.includes(needle.text))
      .map(({ place, encoding }) => `${where}: ${place} as ${encoding}`);
  }

  /** The texts that are looked for in the place of a secret, by encoding. */
  written(field: string, which = ''): readonly string[] {
    const place = this.#places.get(nameOf(field, which));
    return place === undefined ? [] : ENCODINGS.map(({ encode }) => encode(place.searched));
  }

  #add(field: string, which: string, searched: string): string {
    const name = nameOf(field, which);
    if (!this.#places.has(name)) {
      this.#needles = undefined;
      this.#places.set(name, { field, name, searched });
    }
    return searched;
  }
}

function nameOf(field: string, which = ''): string {
  return which === '' ? field : `${field} (${which})`;
}

/** Many encodings leave letters and digits as they are: what is looked for is the same, and is looked for once. */
function needlesOf({ name, searched }: Place): Needle[] {
  const needles = new Map<string, Needle>();
  for (const { name: encoding, encode } of ENCODINGS) {
    // At other offsets the first and the last digit of base64 belong to the neighbours as well.
    const text = encoding.startsWith('base64') ? encode(searched).slice(4, -4) : encode(searched);
    if (text.length >= 12 && !needles.has(text)) needles.set(text, { place: name, encoding, text });
  }
  // What holds a needle that is looked for anyway needs no search of its own: 'x' in quotes, x in JSON.
  const all = [...needles.values()];
  return all.filter(({ text }) => !all.some((other) => other.text !== text && text.includes(other.text)));
}

/** Digits that follow from a text and from nothing else (FNV-1a). */
function digits(text: string, base: 16 | 36, length: number): string {
  let state = 0x811c9dc5;
  let found = '';
  for (let index = 0; found.length < length; index += 1) {
    for (const letter of `${text}${index}`) state = Math.imul(state ^ letter.charCodeAt(0), 0x01000193) >>> 0;
    found += state.toString(base).padStart(base === 16 ? 8 : 6, '0');
  }
  return found.slice(0, length);
}
