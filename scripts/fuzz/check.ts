import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { CANARIES, type FuzzTarget } from './target.ts';

/** The result of one input: all messages about it, and the defect that it shows. */
export interface Examined {
  readonly told: string;
  readonly defect: string | undefined;
}

/** An input that takes less time is not measured again. */
const NOTICEABLE_MS = 50;
/** The maximum cost of a character of an input, as a multiple of the current cost of a character of the seeds. */
const MAX_COST_FACTOR = 100;
/** Added to the length of an input, so that the fixed cost of a short one is allowed. */
const FREE_CHARACTERS = 2000;

/** Process warnings and uncaught errors since the last input. */
const strays: string[] = [];

/** From now on, a process warning counts as a defect of the parser. */
export function watchWarnings(): void {
  process.emitWarning = (warning: string | Error) => {
    strays.push(`a warning of the process: ${String(warning)}`);
  };
}

/** From now on, an uncaught error or rejection counts as a defect of the parser. */
export function watchErrors(): void {
  const stray = (error: unknown) =>
    strays.push(`an error outside of the call: ${error instanceof Error ? error.stack : String(error)}`);
  process.on('uncaughtException', stray).on('unhandledRejection', stray);
}

/** Runs a target with an input and checks the properties. */
export async function examine(target: FuzzTarget, input: string): Promise<Examined> {
  // The clock is cheaper to read than the processor time, which is never longer than the elapsed time.
  const before = performance.now();
  let told: string;
  try {
    told = await target.run(input);
  } catch (error) {
    if (!(error instanceof MachineadmError))
      return { told: '', defect: `threw ${error instanceof Error ? error.stack : String(error)}` };
    told = [error.reason, error.message, error.remedy, ...error.evidence.map(({ text }) => text)].join('\n');
  }
  const elapsed = performance.now() - before;
  const [stray] = strays.splice(0);
  if (stray !== undefined) return { told, defect: stray };
  if (CANARIES.some((canary) => told.includes(canary)))
    return { told, defect: `printed a secret: ${told.slice(0, 500)}` };
  if (elapsed > NOTICEABLE_MS && (await isTooSlow(target, input)))
    return { told, defect: `${Math.round(elapsed)} ms for ${input.length} characters` };
  return { told, defect: undefined };
}

/** The defect that an input shows; undefined if there is none. */
export async function defectOf(target: FuzzTarget, input: string): Promise<string | undefined> {
  return (await examine(target, input)).defect;
}

/** The processor time of running inputs, in milliseconds. Errors are ignored: `examine` checks them. */
export async function costOf(target: FuzzTarget, inputs: readonly string[]): Promise<number> {
  const before = process.cpuUsage();
  for (const input of inputs) await target.run(input).catch(() => undefined);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Compares with the seeds three times, because other processes use the machine as well. */
async function isTooSlow(target: FuzzTarget, input: string): Promise<boolean> {
  if ((await costOf(target, [input])) < NOTICEABLE_MS) return false;
  const characters = target.seeds.reduce((sum, { length }) => sum + length, 0);
  for (let round = 0; round < 3; round++) {
    let [spent, read] = [0, 0];
    while (spent < 5 && read < 1_000_000) {
      spent += await costOf(target, target.seeds);
      read += characters;
    }
    const allowed = MAX_COST_FACTOR * (spent / read) * (input.length + FREE_CHARACTERS);
    if ((await costOf(target, [input])) <= allowed) return false;
  }
  return true;
}
