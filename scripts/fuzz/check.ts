import { MachineadmError } from '@machineadm/document/errors.ts';
import { CANARIES, type FuzzTarget } from './target.ts';

/** What came of an input: all that was said about it, and what is wrong with that. */
export interface Examined {
  readonly told: string;
  readonly defect: string | undefined;
}

/** Processor time below which nothing is measured again. */
const NOTICEABLE_MS = 50;
/** What a character of an input may cost, as a multiple of what one of the seeds costs at the same time. */
const DEARER = 100;
/** Whatever the length, as many characters are allowed for. */
const FREE_CHARACTERS = 2000;

/** What the parser did beside returning: a warning of the process, an error that nobody waits for. */
const strays: string[] = [];

/** From now on a warning of the process counts as what the parser said. */
export function watchWarnings(): void {
  process.emitWarning = (warning: string | Error) => {
    strays.push(`a warning of the process: ${String(warning)}`);
  };
}

/** From now on an error that nobody waits for counts as one of the parser. */
export function watchErrors(): void {
  const stray = (error: unknown) =>
    strays.push(`an error outside of the call: ${error instanceof Error ? error.stack : String(error)}`);
  process.on('uncaughtException', stray).on('unhandledRejection', stray);
}

/** Has a target read an input, and judges how it does. */
export async function examine(target: FuzzTarget, input: string): Promise<Examined> {
  // Of the clock, which costs less to ask than the processor time, and is never less of it.
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
  if (elapsed > NOTICEABLE_MS && (await isDear(target, input)))
    return { told, defect: `${Math.round(elapsed)} ms for ${input.length} characters` };
  return { told, defect: undefined };
}

/** What is wrong with how a target reads an input; undefined where nothing is. */
export async function defectOf(target: FuzzTarget, input: string): Promise<string | undefined> {
  return (await examine(target, input)).defect;
}

/** Processor time of reading inputs, in milliseconds. Whatever the target throws is judged elsewhere. */
export async function costOf(target: FuzzTarget, inputs: readonly string[]): Promise<number> {
  const before = process.cpuUsage();
  for (const input of inputs) await target.run(input).catch(() => undefined);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Compared with the seeds three times, because others use the machine, too. */
async function isDear(target: FuzzTarget, input: string): Promise<boolean> {
  if ((await costOf(target, [input])) < NOTICEABLE_MS) return false;
  const characters = target.seeds.reduce((sum, { length }) => sum + length, 0);
  for (let round = 0; round < 3; round++) {
    let [spent, read] = [0, 0];
    while (spent < 5 && read < 1_000_000) {
      spent += await costOf(target, target.seeds);
      read += characters;
    }
    const allowed = DEARER * (spent / read) * (input.length + FREE_CHARACTERS);
    if ((await costOf(target, [input])) <= allowed) return false;
  }
  return true;
}
