import type { ShellWord, SimpleCommand } from './scanner.ts';

/** The program that a command runs, without what only runs it: `sudo -E`, `timeout 60`, `env A=b`. */
export interface Program {
  /** Without its directory. */
  readonly name: string;
  readonly args: readonly ShellWord[];
  /** True: variables are set for it. */
  readonly hasEnvironment: boolean;
}

/** Programs that run another one, with their options that take a value. */
const RUNNERS: Readonly<Record<string, readonly string[]>> = {
  sudo: ['-u', '-g', '-h', '-p', '-C', '-T', '-r', '-t', '--user', '--group'],
  doas: ['-u', '-C'],
  env: ['-u', '-C', '-S', '--unset', '--chdir'],
  command: [],
  exec: ['-a'],
  nohup: [],
  time: ['-f', '-o'],
  nice: ['-n', '--adjustment'],
  ionice: ['-c', '-n'],
  stdbuf: ['-i', '-o', '-e'],
  setsid: [],
  chroot: [],
  timeout: ['-k', '-s', '--kill-after', '--signal'],
  'systemd-run': ['-p', '-u', '--unit', '--property', '--description'],
  'systemd-cat': ['-t', '-p', '--identifier', '--priority'],
};
/** Runners whose first argument is not the program. */
const WITH_ARGUMENT = new Set(['timeout', 'chroot']);
const ASSIGNMENT = /^[A-Za-z_]\w{0,200}\+?=/;

/** undefined for a command that only sets variables, or without words. */
export function programOf({ words }: Pick<SimpleCommand, 'words'>): Program | undefined {
  let index = 0;
  let hasEnvironment = false;
  for (;;) {
    while (ASSIGNMENT.test(words[index]?.text ?? '')) {
      hasEnvironment = true;
      index++;
    }
    const word = words[index];
    if (word === undefined) return undefined;
    const name = baseName(word.text);
    const valued = Object.hasOwn(RUNNERS, name) ? RUNNERS[name] : undefined;
    if (valued === undefined) return { name, args: words.slice(index + 1), hasEnvironment };
    index++;
    while (words[index]?.text.startsWith('-') === true) index += valued.includes(words[index]?.text ?? '') ? 2 : 1;
    if (WITH_ARGUMENT.has(name)) index++;
    // `exec >file` and `env` alone run nothing.
    if (words[index] === undefined) return { name, args: [], hasEnvironment };
  }
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
