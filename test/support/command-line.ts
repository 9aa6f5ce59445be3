import type { runProgram } from '../../src/commands/index.ts';
import { copyOf } from './stand-ins.ts';
import { type Told, toldBy } from './told.ts';

/** `report test` ends its process, which is here that of other tests, too. */
const STAND_INS = new Map([['src/cli/lingering.ts', 'test/support/machine-in-memory/lingering.ts']]);

const program: { readonly runProgram: typeof runProgram } = await import(
  copyOf('src/commands/index.ts', 'command-line', STAND_INS)
);

/**
 * Runs machineadm in this process, as `main.ts` does. For what a command prints and how it ends; what needs a process of its
 * own (standard input, signals, a run) takes `agent`. One at a time.
 */
export async function commandLine(...args: readonly string[]): Promise<Told> {
  return await toldBy(program.runProgram, args);
}
