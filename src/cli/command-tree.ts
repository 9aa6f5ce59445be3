import { type Command, Help } from 'commander';

/** Adds a command, and those below it, to the program; `done` is called with the exit status of what ran. */
export type AddCommand = (program: Command, done: (status: number) => void) => void;

/** By the name of the command: a run adds only the one that it was called with. */
export type CommandTable = Readonly<Record<string, AddCommand>>;

/** The commands that do something: those without subcommands. */
export function leavesOf(command: Command): readonly Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

/** The deepest command that the words name, and the words after it. */
export function commandIn(command: Command, words: readonly string[]): readonly [Command, readonly string[]] {
  const [word, ...rest] = words;
  const named = command.commands.find((one) => one.name() === word);
  return named === undefined ? [command, words] : commandIn(named, rest);
}

/**
 * The command that runs where its name is not followed by that of a subcommand: its only one, as `images list` for
 * `images`. Those that are in no help are named in full.
 */
export function usualOf(command: Command): Command {
  const [only, ...others] = command.commands;
  const isShown = command.parent !== null && new Help().visibleCommands(command.parent).includes(command);
  return only !== undefined && others.length === 0 && isShown ? only : command;
}

/**
 * The words with the subcommand that they leave out: `images -f a.yaml` is `images list -f a.yaml`. A word that is no option
 * and no path is not taken for a document: it was to be a subcommand.
 */
export function withSubcommand(program: Command, words: readonly string[]): readonly string[] {
  const [command, rest] = commandIn(program, words);
  const usual = usualOf(command);
  const isHelp = words[0] === 'help' || rest.some((word) => word === '--help' || word === '-h');
  const [word = '-'] = rest;
  if (usual === command || isHelp || !(word.startsWith('-') || isPath(word))) return words;
  return [...words.slice(0, words.length - rest.length), usual.name(), ...rest];
}

/** Whether a word before which no subcommand stands is a document, and not a subcommand. */
export function isPath(word: string): boolean {
  return ['.', '/', '\\'].some((mark) => word.includes(mark));
}

/** The sentence that says which help to read. */
export function helpHint(command: Command): string {
  return `See '${nameOf(command)} --help'.`;
}

/** A command with the words that lead to it: `machineadm report test`. */
function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}
