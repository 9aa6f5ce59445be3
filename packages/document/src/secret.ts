const REDACTED = '[redacted]';

let observer: ((value: string) => void) | undefined;

/** From now on `learn` is given the value of each secret that is made. For the redactor of a process; nothing is kept here. */
export function observeSecrets(learn: (value: string) => void): void {
  observer = learn;
}

/**
 * A value that must never be seen. Every way of turning it into text is redacted; `reveal` is the only way to the
 * value and is called at the point of use.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
    observer?.(value);
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
