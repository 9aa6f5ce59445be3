import type { Command } from 'commander';

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

/** The sentence that says which help to read. */
export function helpHint(command: Command): string {
  return `See '${nameOf(command)} --help'.`;
}

/** A command with the words that lead to it: `machineadm report test`. */
function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}
