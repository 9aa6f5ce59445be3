/** A parser of the program, and texts to begin with. */
export interface FuzzTarget {
  readonly name: string;
  /** Right inputs, with canaries where an input has secrets. */
  readonly seeds: readonly string[];
  /** Pieces that mean something to the parser. */
  readonly tokens: readonly string[];
  /**
   * Reads an input and returns all that it says about it to people: none of it may hold a canary. Whatever it throws but a
   * MachineadmError is a defect.
   */
  run(input: string): Promise<string>;
}

/** Values of secrets in the seeds: found in a message, they show a leak. */
export const CANARIES = ['Xc4n4ryAlpha7Q', 'fedcba.9876543210zyxwvu', 'Xc4n4ry+Beta/8Z=='] as const;
