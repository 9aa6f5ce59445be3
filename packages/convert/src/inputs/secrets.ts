import { printableKey } from '@machineadm/document/diagnostics/index.ts';
import { detect, detectForms } from '@machineadm/document/redaction/detectors.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { trimmed, trimmedEnd } from '@machineadm/document/text/trim.ts';
import type { Placed, Report } from '../report/report.ts';
import type { ObjectsByName } from './namespaces.ts';

/** In memory, so that its files do not survive a reboot. */
const DEFAULT_REFERENCES = '/run/secrets';

/** A Secret of the input: its keys with their bytes. */
export interface SecretObject {
  readonly namespace: string | undefined;
  readonly name: string;
  /** undefined: a value that is not base64, such as one that a tool has encrypted. */
  readonly data: ReadonlyMap<string, Uint8Array | undefined>;
  /** The keys that a configuration refers to. */
  readonly named: Set<string>;
}

/** A field of the document that holds a secret. */
export interface SecretName {
  readonly secret: string;
}

/** A key of a Secret of the management cluster. */
export interface SecretKey {
  readonly name: string;
  readonly key: string;
}

/** Of the conversion, what is about secrets. */
export interface SecretOptions {
  readonly inlineSecrets?: boolean | undefined;
  readonly references?: string | undefined;
  readonly forProvider?: boolean | undefined;
}

type SecretEntry = { value: string } | { file: string };

/**
 * The `secrets` of one document. The rule: values in clear in the converted object become a `value`. Values from a
 * Secret become a reference to a file on the machine, and a `value` only if inlining was requested and the Secret is in
 * the input. For machineadm's bootstrap provider they stay references to the Secret, and values become a Secret.
 */
export class SecretBook {
  #isPrivate = false;
  readonly #entries = new Map<string, SecretEntry>();
  readonly #kept = new Map<string, SecretKey>();
  readonly #objects: ObjectsByName<SecretObject>;
  readonly #inline: boolean;
  readonly #forProvider: boolean;
  readonly #directory: string;
  readonly #report: Report;

  constructor(
    objects: ObjectsByName<SecretObject>,
    { inlineSecrets, references, forProvider }: SecretOptions,
    report: Report,
  ) {
    this.#objects = objects;
    this.#inline = inlineSecrets === true;
    this.#forProvider = forProvider === true;
    this.#directory = trimmedEnd(references ?? DEFAULT_REFERENCES, '/') || '/';
    this.#report = report;
  }

  /** The `secrets` section; undefined when there are none. */
  get section(): Readonly<Record<string, SecretEntry>> | undefined {
    return this.#entries.size === 0 ? undefined : Object.fromEntries(this.#entries);
  }

  /** Private content that cannot be a secret of the document: it is redacted, and makes the document as private. */
  keepPrivate(content: string): void {
    new Secret(content);
    this.#isPrivate = true;
  }

  /** Secrets in a command, which stays as it is, are redacted, and make the document as private. */
  keepPrivateInCommand(command: string): void {
    for (const { start, end } of detect(command)) this.keepPrivate(command.slice(start, end));
  }

  /** The same for the content of a file that all may read: names and random words in it are no evidence. */
  keepPrivateInFile(content: string): void {
    for (const { start, end } of detectForms(content)) this.keepPrivate(content.slice(start, end));
  }

  /** Whether text of the document itself, which is no secret of it, is private. */
  get isPrivate(): boolean {
    return this.#isPrivate;
  }

  get holdsValues(): boolean {
    if (this.#isPrivate) return true;
    return [...this.#entries.values()].some((entry) => 'value' in entry);
  }

  /** A value of the input. Equal values with the same name are one secret. */
  value(wanted: string, value: string): SecretName {
    // From now on it is redacted in all messages.
    new Secret(value);
    return this.#add(wanted, { value });
  }

  /** The value of a secret, if the document contains it. */
  valueOf(name: string): string | undefined {
    const entry = this.#entries.get(name);
    return entry !== undefined && 'value' in entry ? entry.value : undefined;
  }

  /** Removes an unused secret. */
  drop(name: string): void {
    this.#entries.delete(name);
  }

  /** The Secrets that the entries of the section stand for, where the provider reads them. */
  get kept(): ReadonlyMap<string, SecretKey> {
    return this.#kept;
  }

  /** A key of a Secret: the provider reads it, or a file on the machine contains the value when the document is used. */
  referenceTo(of: SecretKey, at: Placed | string): SecretName {
    const wanted = `${of.name}-${of.key}`;
    const what = `key ${of.key} of the Secret ${of.name}`;
    if (!this.#forProvider) return this.reference(wanted, at, what);
    this.#report.add('SecretStays', at, what);
    const added = this.#add(wanted, { file: this.path(wanted) });
    this.#kept.set(added.secret, of);
    return added;
  }

  /** A file on the machine that contains the value when the document is used. */
  reference(wanted: string, at: Placed | string, what: string): SecretName {
    const path = this.path(wanted);
    this.#report.add('SecretReferenced', at, `${what} is read from ${path}`);
    return this.#add(wanted, { file: path });
  }

  /** Path of an externally supplied secret. */
  path(name: string): string {
    return `${this.#directory}/${name}`;
  }

  /** The bytes of a key of a Secret in the input, for content that is not secret. */
  bytes(namespace: string | undefined, name: string, key: string): Uint8Array | undefined {
    const found = this.#find(namespace, name);
    found?.named.add(key);
    if (found?.data.has(key) === true && found.data.get(key) === undefined) {
      const where = found.namespace === undefined ? '' : `${found.namespace}/`;
      const message = 'not base64: decrypt it before, or correct it';
      this.#report.add('InputInvalid', `Secret ${where}${printableKey(name)}: data.${printableKey(key)}`, message);
    }
    return found?.data.get(key);
  }

  /** In its namespace; one that names none, or for an object that names none, if it is the only one. */
  #find(namespace: string | undefined, name: string): SecretObject | undefined {
    const near = this.#objects.near(name, namespace);
    const exact = near.filter((object) => object.namespace === namespace);
    const possible = exact.length > 0 ? exact : near;
    const [found, another] = possible;
    if (another === undefined) return found;
    this.#report.add('RelationUnclear', `Secret ${printableKey(name)}`, `${possible.length} of the input may be meant`);
    return undefined;
  }

  /** The same, only if Secrets may be inlined. */
  inlineBytes(namespace: string | undefined, name: string, key: string): Uint8Array | undefined {
    const bytes = this.bytes(namespace, name, key);
    return this.#inline ? bytes : undefined;
  }

  #add(wanted: string, entry: SecretEntry): SecretName {
    const base = nameOf(wanted);
    for (let number = 1; ; number++) {
      const name = number === 1 ? base : `${base}-${number}`;
      const known = this.#entries.get(name);
      if (known !== undefined && JSON.stringify(known) !== JSON.stringify(entry)) continue;
      this.#entries.set(name, entry);
      return { secret: name };
    }
  }
}

/** A name that the document allows: letters, digits, "_" and "-", a letter first. */
function nameOf(wanted: string): string {
  const plain = trimmed(wanted.replace(/[^A-Za-z0-9_-]+/g, '-'), '-');
  return /^[A-Za-z]/.test(plain) ? plain : `secret-${plain}`;
}

export function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}

/** undefined for what is not base64. */
export function fromBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text.replace(/\s+/g, '')), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
