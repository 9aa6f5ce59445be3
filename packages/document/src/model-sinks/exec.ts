import type { SecretValue } from '../secret.ts';
import type { RemoteOptions } from './remote.ts';

/** A program that is given each event on standard input. */
export interface ExecSinkModel extends RemoteOptions {
  readonly kind: 'Exec';
  /** Program and arguments; the program absolute, or a name on root's PATH. */
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, SecretValue>>;
}
