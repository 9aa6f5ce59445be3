import { nearestName } from '@machineadm/document/diagnostics/index.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { type Command, type CommanderError, Help } from 'commander';
import { commandIn, helpHint } from './command-tree.ts';
import { printUsageError } from './output.ts';
import type { OutputFormat } from './output-format.ts';

/** Commands of kubectl, kubeadm, terraform and cloud-init, with the command that does the same here. */
export const FOREIGN_COMMANDS: Readonly<Record<string, string>> = {
  apply: 'provision',
  bootstrap: 'provision',
  create: 'provision',
  deploy: 'provision',
  init: 'provision',
  install: 'provision',
  join: 'provision',
  run: 'provision',
  up: 'provision',
  bake: 'prepare',
  build: 'prepare',
  diff: 'plan --diff',
  'dry-run': 'plan',
  preview: 'plan',
  check: 'validate',
  lint: 'validate',
  template: 'example',
  import: 'convert',
  migrate: 'convert',
  clean: 'reset',
  delete: 'reset',
  destroy: 'reset',
  down: 'reset',
  remove: 'reset',
  rollback: 'reset',
  undo: 'reset',
  uninstall: 'reset',
  describe: 'status',
  get: 'status',
  state: 'status',
  events: 'status --follow',
  log: 'status --follow',
  logs: 'status --follow',
  tail: 'status --follow',
  watch: 'status --follow',
  wait: 'status --wait',
  analyze: 'timeline',
  blame: 'timeline',
  debug: 'diagnose',
  troubleshoot: 'diagnose',
  preflight: 'doctor',
  'collect-logs': 'bundle',
  sos: 'bundle',
  sosreport: 'bundle',
  inventory: 'facts',
  download: 'fetch',
  pull: 'fetch',
  'api-resources': 'explain --recursive',
  fields: 'explain --recursive',
  show: 'config show',
  view: 'config show',
};

/** Options that are commands: `convert` and then `wrap`. */
const OPTIONS_THAT_ARE_COMMANDS: Readonly<Record<string, string>> = { '--wrap': 'machineadm wrap' };

/** The same for options. The suggestion is given only where the command has that option. */
export const FOREIGN_OPTIONS: Readonly<Record<string, string>> = {
  '--config': '--filename',
  '--file': '--filename',
  '--config-file': '--filename',
  '--user-data': '--filename',
  '-c': '--filename',
  '--debug': '--verbose',
  '--silent': '--quiet',
  '--colour': '--color',
  '--check': '--dry-run',
  '--noop': '--dry-run',
  '--detailed-exitcode': '--exit-code',
  '--out': '--output-file',
  '--json': '--output json',
  '-json': '--output json',
  '--yaml': '--output yaml',
  '--long': '--output yaml',
  '--watch': '--follow',
  '-w': '--follow',
  '--force': '--yes',
  '--auto-approve': '--yes',
  '-auto-approve': '--yes',
  '-y': '--yes',
  '--deadline': '--timeout',
};

/** Refuses an unknown command line and suggests the word that was probably meant. Returns the exit code. */
export async function refuseUsage(
  error: CommanderError,
  program: Command,
  words: readonly string[],
  format: OutputFormat,
): Promise<number> {
  // Commander printed the help of a command that lacks its subcommand.
  if (error.code === 'commander.help' && format === 'text') return exitCode('Usage');
  const message = error.code === 'commander.help' ? 'a command is missing' : error.message.replace(/^error: /, '');
  const [command] = commandIn(program, words[0] === 'help' ? words.slice(1) : words);
  const meant = suggestionFor(message, command, command === program);
  const [named] = commandIn(command, (meant ?? '').split(' '));
  return await printUsageError(
    meant === undefined ? message : `${message}\n(Did you mean ${meant}?)`,
    format,
    helpHint(named),
  );
}

function suggestionFor(message: string, command: Command, isRoot: boolean): string | undefined {
  const word = unknownIn(message);
  if (word === '') return undefined;
  if (message.startsWith('unknown command')) {
    const names = new Help().visibleCommands(command).map((one) => one.name());
    const known = isRoot ? [...names, ...Object.keys(FOREIGN_COMMANDS)] : names;
    const near = nearestName(word, known);
    return near === undefined || names.includes(near) ? near : FOREIGN_COMMANDS[near];
  }
  if (message.startsWith('unknown option')) {
    const longs = new Help().visibleOptions(command).flatMap(({ long }) => long ?? []);
    const [name = ''] = word.split('=');
    const synonym = Object.hasOwn(FOREIGN_OPTIONS, name) ? FOREIGN_OPTIONS[name] : undefined;
    if (Object.hasOwn(OPTIONS_THAT_ARE_COMMANDS, name)) return OPTIONS_THAT_ARE_COMMANDS[name];
    if (synonym !== undefined && longs.includes(synonym.split(' ')[0] ?? '')) return synonym;
    return nearestName(name, longs);
  }
  const [, choices] = message.split(' is invalid. Allowed choices are ');
  return choices === undefined ? undefined : nearestName(word, choices.replace(/\.$/, '').split(', '));
}

/** The word that commander's message quotes as unknown. */
function unknownIn(message: string): string {
  return /(?:unknown (?:command|option)|argument) '([^']*)'/.exec(message)?.[1] ?? '';
}
