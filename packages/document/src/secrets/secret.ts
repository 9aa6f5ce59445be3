const REDACTED = '[redacted]';

let observer: ((value: string) => void) | undefined;

/**
 * From now on `learn` is called with the value of each new secret. For the redactor of a process; nothing is kept here.
 */
export function observeSecrets(learn: (value: string) => void): void {
  observer = learn;
}

/**
 * A secret value. Every conversion to text is redacted; `reveal` is the only access to the value and is called where
 * the value is used.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
    observer?.(value);
  }

  /** The value itself. Call it only where the value is used. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  /** Node's `util.inspect` uses this name; it is registered globally, so nothing of Node is imported. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return REDACTED;
  }
}

/** The source of a named secret's value. */
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
      /** Expected hex digest of the body; undefined = any. */
      readonly sha256: string | undefined;
      /** RFC 6901 pointer into a JSON body; undefined = the whole body. */
      readonly pointer: string | undefined;
    }
  | {
      readonly kind: 'awsSecretsManager';
      readonly secretId: string;
      /** undefined = the region of the metadata service. */
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

/**
 * Whether resolving the value has side effects: starts a program, or is visible to a server. `plan` must not do that.
 */
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

/** A field with a secret: inline in the document, or a reference that is resolved when it is used. */
export interface SecretValue {
  /** Its name under `secrets`, or the path of its field. For messages. */
  readonly name: string;
  readonly source: SecretSource;
}
