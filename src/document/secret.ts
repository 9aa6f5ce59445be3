const REDACTED = '[redacted]';

/** Values shorter than this are not searched for in text: they would blank out ordinary words. */
const SHORTEST_SEARCHED = 6;

/**
 * A value that must never be seen. Every way of turning it into text is redacted; `reveal` is the only way to the
 * value and is called at the point of use.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
    remember(value);
  }

  /** The value itself. Call it where the value is used, and nowhere else. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  /** Node's `util.inspect` looks this name up; it is registered globally, so nothing of Node is imported. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return REDACTED;
  }
}

/** Where the value of a named secret comes from. */
export type SecretSource =
  | { readonly kind: 'value'; readonly secret: Secret }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'env'; readonly variable: string }
  | { readonly kind: 'systemdCredential'; readonly name: string }
  | { readonly kind: 'exec'; readonly command: readonly string[]; readonly timeoutMs: number }
  | {
      readonly kind: 'http';
      readonly url: string;
      readonly headers: Readonly<Record<string, SecretValue>>;
      /** Hex digest that the body must have; undefined = any. */
      readonly sha256: string | undefined;
      /** RFC 6901 pointer into a JSON body; undefined = the whole body. */
      readonly pointer: string | undefined;
    }
  | {
      readonly kind: 'awsSecretsManager';
      readonly secretId: string;
      /** undefined = the region that the metadata service names. */
      readonly region: string | undefined;
      /** A key of a JSON secret. */
      readonly key: string | undefined;
      /** Replaces the service's address: VPC endpoints, tests. */
      readonly endpoint: string | undefined;
    }
  | {
      readonly kind: 'awsParameter';
      readonly name: string;
      readonly region: string | undefined;
      readonly endpoint: string | undefined;
    };

/** Whether finding the value out does something: runs a program, leaves a trace at a server. `plan` must not. */
export function hasEffects(source: SecretSource): boolean {
  switch (source.kind) {
    case 'value':
    case 'file':
    case 'env':
    case 'systemdCredential':
      return false;
    case 'exec':
    case 'http':
    case 'awsSecretsManager':
    case 'awsParameter':
      return true;
  }
}

/** A field that holds a secret: written into the document, or a reference that is resolved at the moment of use. */
export interface SecretValue {
  /** The name it has under `secrets`, or the path of the field that holds it. For messages. */
  readonly name: string;
  readonly source: SecretSource;
}

const registry = new Set<string>();
let needles: string[] | undefined;

function remember(value: string): void {
  if (registry.has(value)) return;
  registry.add(value);
  needles = undefined;
}

/** The forms in which a secret could leak: itself, its lines, base64, URL-encoded, JSON-escaped. */
export function formsOf(value: string): string[] {
  const lines = value.split('\n').map((line) => line.trim());
  const bodies = lines.length > 1 ? lines.filter((line) => line.length >= 16 && !line.startsWith('-----')) : [];
  const escaped = JSON.stringify(value).slice(1, -1);
  const bytes = Array.from(new TextEncoder().encode(value), (byte) => String.fromCharCode(byte)).join('');
  const base64 = btoa(bytes).replace(/=+$/, '');
  // The second half of a bootstrap token is its secret; the first half names it in Kubernetes objects.
  const tokenSecret = /^[a-z0-9]{6}\.([a-z0-9]{16})$/.exec(value)?.slice(1) ?? [];
  return [value, ...bodies, escaped, encodeURIComponent(value), base64, ...tokenSecret];
}

/**
 * Removes every known secret, in every form, and everything shaped like a bootstrap token, a certificate key or a
 * private key. Applied to all text that leaves the process.
 */
export function redact(text: string): string {
  needles ??= [...new Set([...registry].flatMap(formsOf))]
    .filter((form) => form.length >= SHORTEST_SEARCHED)
    .sort((a, b) => b.length - a.length);
  let clean = text;
  for (const needle of needles) clean = clean.replaceAll(needle, REDACTED);
  return clean
    .replace(/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, REDACTED)
    .replace(/(certificate[-_ ]?key\W{1,4})[0-9a-f]{64}\b/gi, `$1${REDACTED}`)
    .replace(/-----BEGIN ([A-Z ]*)PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, REDACTED);
}

/** Applies `redact` to every string inside a JSON-like value. */
export function redactDeep<T>(value: T): T;
export function redactDeep(value: unknown): unknown {
  if (typeof value === 'string') return redact(value);
  if (value instanceof Secret) return REDACTED;
  if (Array.isArray(value)) return value.map((item: unknown) => redactDeep(item));
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactDeep(item)]));
  }
  return value;
}
