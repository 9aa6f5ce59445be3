import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Random } from './random.ts';

/** A parser of the program, with its seed inputs. */
export interface FuzzTarget {
  readonly name: string;
  /** The input, for docs/fuzzing.md. */
  readonly reads: string;
  /** Valid inputs, with canaries as secrets. */
  readonly seeds: readonly string[];
  /** Pieces of text that have a meaning for the parser. */
  readonly tokens: readonly string[];
  /** The input is bytes: each character is one byte (latin1), in memory and in fixtures. */
  readonly isBinary?: true;
  /** Only the grammar mutates inputs: an input with syntax errors tests nothing here. */
  readonly isGrammatical?: true;
  /** Mutations that keep the input well-formed, so that it reaches the code after the parser. */
  readonly grammar?: readonly Mutation[];
  /**
   * Reads an input and returns all messages about it, which must not contain a canary. Any error other than a
   * MachineadmError is a defect.
   */
  run(input: string): Promise<string>;
}

/** Mutates an input; undefined if the input is not well-formed. */
export type Mutation = (random: Random, input: string) => string | undefined;

/** Secrets in the seeds. A message that contains one is a leak. */
export const CANARIES = ['Xc4n4ryAlpha7Q', 'fedcba.9876543210zyxwvu', 'Xc4n4ry+Beta/8Z=='] as const;

/** What a MachineadmError of this work says; '' if it succeeds. */
export async function refusal(work: () => Promise<unknown> | unknown): Promise<string> {
  try {
    await work();
    return '';
  } catch (error) {
    if (error instanceof MachineadmError) return `${error.reason} ${error.message} ${error.remedy}`;
    throw error;
  }
}
