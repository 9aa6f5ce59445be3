import { conventionalExitCode, exitCode } from '@machineadm/document/exit-codes.ts';
import { Command, CommanderError } from 'commander';
import { buildInfo } from '../cli/build-info.ts';
import { type CommandTable, commandIn, helpHint, leavesOf } from '../cli/command-tree.ts';
import { fittedHelp } from '../cli/layout.ts';
import {
  addCommonOptions,
  conventionIn,
  heedCommonOptions,
  heedInsecureDocument,
  outputOption,
} from '../cli/options.ts';
import { printError, printText } from '../cli/output.ts';
import { formatIn, type OutputFormat } from '../cli/output-format.ts';
import { wrapWidthOf } from '../cli/terminal.ts';
import { COMPLETION_COMMANDS } from './completion/index.ts';
import { DOCUMENT_COMMANDS } from './document-commands.ts';
import { EXAMPLES } from './help-examples.ts';
import { MACHINE_COMMANDS } from './machine-commands.ts';
import { REPORT_COMMANDS } from './report/index.ts';
import { RUN_COMMANDS } from './run-commands.ts';
import { ROOT_COMMANDS } from './trust/index.ts';
import { TRUST_COMMANDS } from './trust-commands.ts';
import { UNIT_COMMANDS } from './unit-commands.ts';

/** By the heading in the help. */
const GROUPS: Readonly<Record<string, CommandTable>> = {
  'Write a document:': DOCUMENT_COMMANDS,
  'Change this machine:': RUN_COMMANDS,
  'Look at this machine:': { ...MACHINE_COMMANDS, ...REPORT_COMMANDS },
  'Get and verify files:': { ...TRUST_COMMANDS, ...ROOT_COMMANDS, ...UNIT_COMMANDS },
  'Other commands:': {
    ...COMPLETION_COMMANDS,
    version(program, done) {
      program
        .command('version')
        .description('print the version, commit, Node and supported document versions')
        .addOption(outputOption())
        .addHelpText('after', '\nExample:\n  machineadm version -o json')
        .action(async (options: { output: OutputFormat }) =>
          done(await (await import('./version.ts')).version(options)),
        );
    },
  },
};

/** The width in a pipe. */
const HELP_WIDTH = 80;
/** The least width of the explanations beside the names. */
const NARROWEST_COLUMN = 20;

/** Runs the command line and returns the exit code. Never throws. */
export async function runProgram(given: readonly string[]): Promise<number> {
  const argv = withCommandFirst(given);
  const outcome: { status: number } = { status: exitCode('Success') };
  const program = createProgram((status) => {
    outcome.status = status;
  }, onlyCommandOf(argv));
  try {
    const words = argv.slice(2);
    requireKnownCommand(program, words);
    // Commander's own `help` knows only the commands of the first level.
    const asked = words[0] === 'help' ? [...words.slice(1), '--help'] : words;
    await program.parseAsync(asked, { from: 'user' });
    return outcome.status;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCode('Success');
    const words = argv.slice(2);
    const format = formatIn(argv);
    const code =
      error instanceof CommanderError
        ? await (await import('../cli/usage.ts')).refuseUsage(error, program, words, format)
        : await printError(error, format, helpHint(commandIn(program, words)[0]));
    return conventionalExitCode(conventionIn(argv), code, false);
  }
}

/**
 * The commands and options as commander holds them; the man page and the shell completion are made from this too.
 * @param done called with the exit status of the command that ran
 * @param only the one command to have: to describe all of them takes half of the time of a short command
 */
export function createProgram(done: (status: number) => void, only?: string): Command {
  const program = new Command('machineadm')
    .description(
      'Turns a machine that has an operating system into a Kubernetes node, and reports truthfully how it went.',
    )
    .version(buildInfo().version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .exitOverride()
    // `runProgram` prints the errors, in the format that was asked for.
    .configureOutput({
      outputError: () => {},
      writeOut: (text) => printText(fittedHelp(text, wrapWidthOf(process.stdout))),
      getOutHelpWidth: () => wrapWidthOf(process.stdout) ?? HELP_WIDTH,
      getErrHelpWidth: () => wrapWidthOf(process.stderr) ?? HELP_WIDTH,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({ minWidthToWrap: NARROWEST_COLUMN })
    .showSuggestionAfterError(false)
    .addHelpText('after', EXAMPLES)
    .hook('preAction', heedCommonOptions)
    .hook('preAction', heedInsecureDocument);

  for (const [title, commands] of Object.entries(GROUPS)) {
    program.commandsGroup(title);
    for (const [name, add] of Object.entries(commands)) if (only === undefined || name === only) add(program, done);
  }
  program.helpCommand('help [command]', 'print the help of a command');
  for (const command of leavesOf(program)) addCommonOptions(command);
  return program;
}

/** Options may also precede the command, as with kubectl: `-o json status`. Each command has its own, so they move after it. */
function withCommandFirst(argv: readonly string[]): readonly string[] {
  const [node = '', script = '', ...words] = argv;
  const index = words.findIndex(isCommand);
  if (index <= 0 || words[0]?.startsWith('-') !== true || /^(?:--|-h|--help|-V|--version)$/.test(words[0])) return argv;
  const [before, after] = [words.slice(0, index), words.slice(index)];
  const end = after.includes('--') ? after.indexOf('--') : after.length;
  return [node, script, ...after.slice(0, end), ...before, ...after.slice(end)];
}

function isCommand(word: string): boolean {
  return Object.values(GROUPS).some((commands) => Object.hasOwn(commands, word));
}

/** The command that a command line calls; undefined where it needs to know the others, as help and completion do. */
function onlyCommandOf([, , word = '']: readonly string[]): string | undefined {
  return isCommand(word) && word !== '__complete' ? word : undefined;
}

/** Commander would print the program's help for `--help` after an unknown word, so this check comes first. */
function requireKnownCommand(program: Command, words: readonly string[]): void {
  const [command, [word]] = commandIn(program, words[0] === 'help' ? words.slice(1) : words);
  if (command.commands.length === 0 || word === undefined || word.startsWith('-') || word === 'help') return;
  throw new CommanderError(1, 'commander.unknownCommand', `error: unknown command '${word}'`);
}
