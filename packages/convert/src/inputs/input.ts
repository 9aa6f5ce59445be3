import type { ObjectsByName } from './namespaces.ts';
import type { SecretObject } from './secrets.ts';

/** An input text, with its name for messages. */
export interface InputText {
  readonly name: string;
  readonly text: string;
}

/** An object of the Kubernetes API, as written. */
export interface InputObject {
  readonly kind: string;
  readonly group: string;
  readonly version: string;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly value: Readonly<Record<string, unknown>>;
  /** `KubeadmConfig clusters/a` */
  readonly title: string;
  /** The name of its input text. */
  readonly origin: string;
}

/** User data, alone or in its Secret. */
export interface InputUserData {
  readonly format: 'cloud-config' | 'ignition';
  /** Text for cloud-init, parsed JSON of an Ignition config. */
  readonly content: unknown;
  readonly title: string;
  /** The Secret; undefined for bare user data. */
  readonly secret: InputObject | undefined;
}

export interface Inputs {
  readonly objects: readonly InputObject[];
  readonly userData: readonly InputUserData[];
  readonly secrets: ObjectsByName<SecretObject>;
}
