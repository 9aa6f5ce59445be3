import { conventionalExitCode, exitCode } from '@machineadm/document/exit-codes.ts';
import { Command, CommanderError } from 'commander';
import { buildInfo } from './build-info.ts';
import { addCompletionCommands } from './completion-commands.ts';
import { addDocumentCommands } from './document-commands.ts';
import { EXAMPLES } from './examples.ts';
import { addMachineCommands } from './machine-commands.ts';
import { addCommonOptions, conventionIn, heedCommonOptions, heedInsecureDocument, outputOption } from './options.ts';
import { printError, printUsageError } from './output.ts';
import { formatIn, type OutputFormat } from './output-format.ts';
import { addReportCommands } from './report-commands.ts';
import { addRunCommands } from './run-commands.ts';
import { addTrustCommands } from './trust-commands.ts';
import { addUnitCommands } from './unit-commands.ts';

/** Runs the command line and gives the exit status. Never throws. */
export async function runProgram(argv: readonly string[]): Promise<number> {
  const outcome: { status: number } = { status: exitCode('Success') };
  const program = createProgram((status) => {
    outcome.status = status;
  });
  try {
    await program.parseAsync(argv);
    return outcome.status;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCode('Success');
    const words = argv.slice(2);
    const hint = `See '${['machineadm', ...commandIn(program, words)].join(' ')} --help'.`;
    const format = formatIn(argv);
    const code =
      error instanceof CommanderError
        ? await refuseUsage(error, words, format, hint)
        : await printError(error, format, hint);
    return conventionalExitCode(conventionIn(argv), code, false);
  }
}

/**
 * The command line as commander holds it: also the source of the man page and of shell completion.
 * @param done called with the exit status of the command that ran
 */
export function createProgram(done: (status: number) => void): Command {
  const program = new Command('machineadm')
    .description(
      'Turns a machine that has an operating system into a Kubernetes node, and reports truthfully how it went.',
    )
    .version(buildInfo().version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .exitOverride()
    // `runProgram` prints errors, in the format that was asked for.
    .configureOutput({ outputError: () => {}, getOutHasColors: () => false, getErrHasColors: () => false })
    .addHelpText('after', EXAMPLES)
    .hook('preAction', heedCommonOptions)
    .hook('preAction', heedInsecureDocument);

  program.commandsGroup('Write a document:');
  addDocumentCommands(program, done);
  program.commandsGroup('Change this machine:');
  addRunCommands(program, done);
  program.commandsGroup('Look at this machine:');
  addMachineCommands(program, done);
  addReportCommands(program, done);
  program.commandsGroup('Get and verify files:');
  addTrustCommands(program, done);
  addUnitCommands(program, done);
  program.commandsGroup('Other commands:');

  addCompletionCommands(program, done);

  program
    .command('version')
    .description('print version, commit, Node and the document versions it reads')
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  machineadm version -o json')
    .action(async (options: { output: OutputFormat }) => done(await (await import('./version.ts')).version(options)));

  for (const command of leavesOf(program)) addCommonOptions(command);
  return program;
}

/** The commands that do something: those without commands below them. */
export function leavesOf(command: Command): readonly Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

/** The words of the command that a command line names, as far as there is such a command. */
function commandIn(program: Command, words: readonly string[]): readonly string[] {
  const [word, ...rest] = words;
  const command = program.commands.find((one) => one.name() === word);
  return command === undefined ? [] : [command.name(), ...commandIn(command, rest)];
}

/** What people who know other tools type, and what it is called here. */
const SYNONYMS: Readonly<Record<string, string>> = {
  apply: 'provision',
  bootstrap: 'provision',
  init: 'provision',
  install: 'provision',
  join: 'provision',
  run: 'provision',
  diff: 'plan --diff',
  preview: 'plan',
  check: 'validate',
  lint: 'validate',
  destroy: 'reset',
  uninstall: 'reset',
  describe: 'status',
  get: 'status',
  logs: 'status --follow',
  watch: 'status --follow',
  debug: 'diagnose',
  preflight: 'doctor',
  sos: 'bundle',
  sosreport: 'bundle',
  download: 'fetch',
  show: 'config show',
  view: 'config show',
};

async function refuseUsage(
  error: CommanderError,
  words: readonly string[],
  format: OutputFormat,
  hint: string,
): Promise<number> {
  // Its help was printed: a command without the word that it needs.
  if (error.code === 'commander.help' && format === 'text') return exitCode('Usage');
  const message = error.code === 'commander.help' ? 'a command is missing' : error.message.replace(/^error: /, '');
  const unknown = error.code === 'commander.unknownCommand' ? words.find((word) => !word.startsWith('-')) : undefined;
  const synonym = unknown !== undefined && Object.hasOwn(SYNONYMS, unknown) ? SYNONYMS[unknown] : undefined;
  const known = synonym === undefined ? message : `${message.split('\n')[0]}\n(Did you mean ${synonym}?)`;
  return await printUsageError(known, format, hint);
}
