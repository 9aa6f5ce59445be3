import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { type Argument, type Command, Help, type Option } from 'commander';
import { isPath, usualOf } from '../../cli/command-tree.ts';
import { printText } from '../../cli/output.ts';
import { type Candidate, candidatesOf, type ValueKind, valueKindOf } from './values.ts';

/** What a shell offers when TAB is pressed. */
export interface Completions {
  readonly candidates: readonly Candidate[];
  /**
   * The last line of the answer. `files` and `directories`: the shell adds its own names, because it knows how to quote
   * them. `partial`: a candidate can be continued, so the shell adds no blank.
   */
  readonly directive: 'none' | 'partial' | 'files' | 'directories';
}

/**
 * `machineadm __complete`: what can stand in the place of a word. The scripts of `machineadm completion` ask this at each
 * TAB, as kubectl's do: one implementation for all shells, which knows the fields and the documents.
 * @param words of the line before the cursor, without the program
 * @param current the word at the cursor, as far as it is typed
 */
export async function complete(words: readonly string[], current: string, program: Command): Promise<number> {
  const { candidates, directive } = await completionsFor(words, current, program);
  const lines = candidates.map(({ value, description }) => `${value}\t${description.replace(/\s+/g, ' ')}`);
  printText([...lines, `:${directive}`].join('\n'));
  return exitCode('Success');
}

/** The completions as data, before they are printed. */
export async function completionsFor(
  words: readonly string[],
  current: string,
  program: Command,
): Promise<Completions> {
  const line = read(words, program);
  const inside = /^(--[a-z][a-z-]*)=([\s\S]*)$/.exec(current);
  const pending = line.pending ?? (inside === null ? undefined : optionNamed(usualOf(line.command), inside[1] ?? ''));
  if (pending !== undefined) {
    const typed = line.pending === undefined ? (inside?.[2] ?? '') : current;
    const found = await values(valueKindOf(pending), typed, line);
    const prefix = current.slice(0, current.length - typed.length);
    return { ...found, candidates: found.candidates.map((one) => ({ ...one, value: prefix + one.value })) };
  }
  const subcommands = line.positions > 0 ? [] : new Help().visibleCommands(line.command);
  const command = usualOf(line.command);
  const wantsSubcommand = subcommands.length > 0 && !isPath(current);
  const argument = wantsSubcommand ? undefined : argumentAt(command, line.positions);
  const wantsOption = current.startsWith('-') && !line.isOptionsEnd;
  const options =
    wantsOption || (subcommands.length === 0 && argument === undefined)
      ? optionsLeft({ ...line, command }, current)
      : [];
  if (wantsOption) return { candidates: matching(options, current), directive: 'none' };
  const found = await values(argument === undefined ? undefined : valueKindOf(argument), current, line);
  const named = subcommands.map((one) => ({ value: one.name(), description: one.description() }));
  return { ...found, candidates: [...matching([...named, ...options], current), ...found.candidates] };
}

/** What the words before the cursor mean. */
interface Line {
  readonly command: Command;
  /** The arguments that were given already. */
  readonly positions: number;
  readonly given: ReadonlySet<Option>;
  /** The option whose value is being typed. */
  readonly pending: Option | undefined;
  readonly documents: readonly string[];
  /** Whether `--` was given: only arguments follow it. */
  readonly isOptionsEnd: boolean;
}

function read(words: readonly string[], program: Command): Line {
  let command = program;
  let positions = 0;
  let pending: Option | undefined;
  let isOptionsEnd = false;
  const given = new Set<Option>();
  const documents: string[] = [];
  const take = (option: Option, value: string): void => {
    if (valueKindOf(option).kind === 'document') documents.push(value);
  };
  for (const word of words) {
    if (pending !== undefined) {
      take(pending, word);
      pending = undefined;
      continue;
    }
    if (word === '--') {
      isOptionsEnd = true;
      continue;
    }
    if (word.startsWith('-') && word !== '-' && !isOptionsEnd) {
      command = usualOf(command);
      const [name, value] = nameAndValue(word);
      const option = optionNamed(command, name);
      if (option === undefined) continue;
      given.add(option);
      if (!option.required) continue;
      if (value === undefined) pending = option;
      else take(option, value);
      continue;
    }
    const sub = positions === 0 ? command.commands.find((one) => one.name() === word) : undefined;
    if (sub !== undefined) command = sub;
    else {
      command = usualOf(command);
      const argument = argumentAt(command, positions);
      if (argument !== undefined && valueKindOf(argument).kind === 'document') documents.push(word);
      positions += 1;
    }
  }
  return { command, positions, given, pending, documents, isOptionsEnd };
}

/** `--name=value`, `-nvalue` or `-n=value`; the value is undefined where there is none. */
function nameAndValue(word: string): readonly [string, string | undefined] {
  const equals = word.indexOf('=', 3);
  const end = !word.startsWith('--') ? 2 : equals < 0 ? word.length : equals;
  const value = word.slice(end).replace(/^=/, '');
  return [word.slice(0, end), value === '' ? undefined : value];
}

/** Hidden options too: former names of an option take the same values. */
function optionNamed({ options }: Command, name: string): Option | undefined {
  return options.find(({ short, long }) => short === name || long === name);
}

/** The options that can still be given. One that takes several values can be repeated. */
function optionsLeft({ command, given }: Line, current: string): readonly Candidate[] {
  return new Help()
    .visibleOptions(command)
    .filter((option) => !given.has(option) || (option.parseArg !== undefined && option.argChoices === undefined))
    .flatMap(({ short, long, description }) => [
      // Short names are offered only after a single dash: the long names explain themselves.
      ...(current === '-' && short !== undefined ? [{ value: short, description }] : []),
      ...(long === undefined || long === null ? [] : [{ value: long, description }]),
    ]);
}

function argumentAt({ registeredArguments }: Command, position: number): Argument | undefined {
  const last = registeredArguments.at(-1);
  return registeredArguments[position] ?? (last?.variadic === true ? last : undefined);
}

/** The possible values of an option or argument. */
async function values(kind: ValueKind | undefined, typed: string, { documents }: Line): Promise<Completions> {
  if (kind === undefined) return { candidates: [], directive: 'none' };
  const candidates = matching(await candidatesOf(kind, { typed, documents }), typed);
  if (kind.kind === 'directory') return { candidates, directive: 'directories' };
  if (kind.kind === 'file' || kind.kind === 'document') return { candidates, directive: 'files' };
  // `jsonpath=` is only the beginning of a value: the path follows.
  const isPartial =
    kind.kind === 'field' || kind.kind === 'code' || candidates.every(({ value }) => value.endsWith('='));
  return { candidates, directive: candidates.length > 0 && isPartial ? 'partial' : 'none' };
}

/**
 * The candidates that begin with what was typed. Names from a document are left out where a shell would interpret them.
 */
function matching(candidates: readonly Candidate[], typed: string): readonly Candidate[] {
  return candidates.filter(({ value }) => value.startsWith(typed) && /^[\w.,:/@+=-]+$/.test(value));
}
