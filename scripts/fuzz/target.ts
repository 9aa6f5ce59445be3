import type { Random } from './random.ts';

/** A parser of the program, and inputs to begin with. */
export interface FuzzTarget {
  readonly name: string;
  /** The input, for docs/fuzzing.md. */
  readonly reads: string;
  /** Right inputs, with canaries where an input has secrets. */
  readonly seeds: readonly string[];
  /** Pieces that mean something to the parser. */
  readonly tokens: readonly string[];
  /** The input is bytes: each character stands for one (latin1), in memory and in fixtures. */
  readonly isBinary?: true;
  /** Bytes are not damaged: what the grammar refuses says nothing here. */
  readonly isGrammatical?: true;
  /** Changes that keep the grammar of the format, so that damage reaches what lies behind the parser. */
  readonly grammar?: readonly Mutation[];
  /**
   * Reads an input and returns all that it says about it to people: none of it may hold a canary. Whatever it throws but a
   * MachineadmError is a defect.
   */
  run(input: string): Promise<string>;
}

/** Another input made of one; undefined where the input does not have the grammar. */
export type Mutation = (random: Random, input: string) => string | undefined;

/** Values of secrets in the seeds: found in a message, they show a leak. */
export const CANARIES = ['Xc4n4ryAlpha7Q', 'fedcba.9876543210zyxwvu', 'Xc4n4ry+Beta/8Z=='] as const;
