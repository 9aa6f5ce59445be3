import { conventionalExitCode, exitCode } from '@machineadm/document/exit-codes.ts';
import { Command, CommanderError } from 'commander';
import { buildInfo } from './build-info.ts';
import { commandIn, helpHint, leavesOf } from './command-tree.ts';
import { addCompletionCommands } from './completion-commands.ts';
import { addDocumentCommands } from './document-commands.ts';
import { EXAMPLES } from './examples.ts';
import { fittedHelp } from './layout.ts';
import { addMachineCommands } from './machine-commands.ts';
import { addCommonOptions, conventionIn, heedCommonOptions, heedInsecureDocument, outputOption } from './options.ts';
import { printError, printText } from './output.ts';
import { formatIn, type OutputFormat } from './output-format.ts';
import { addReportCommands } from './report-commands.ts';
import { addRunCommands } from './run-commands.ts';
import { wrapWidthOf } from './terminal.ts';
import { addTrustCommands } from './trust-commands.ts';
import { addUnitCommands } from './unit-commands.ts';

/** The width in a pipe. */
const HELP_WIDTH = 80;
/** The least width of the explanations beside the names. */
const NARROWEST_COLUMN = 20;

/** Runs the command line and returns the exit code. Never throws. */
export async function runProgram(argv: readonly string[]): Promise<number> {
  const outcome: { status: number } = { status: exitCode('Success') };
  const program = createProgram((status) => {
    outcome.status = status;
  });
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
        ? await (await import('./usage.ts')).refuseUsage(error, program, words, format)
        : await printError(error, format, helpHint(commandIn(program, words)[0]));
    return conventionalExitCode(conventionIn(argv), code, false);
  }
}

/**
 * The commands and options as commander holds them; the man page and the shell completion are made from this too.
 * @param done called with the exit status of the command that ran
 */
export function createProgram(done: (status: number) => void): Command {
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

  program.helpCommand('help [command]', 'print the help of a command');
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

/** Commander would print the program's help for `--help` after an unknown word, so this check comes first. */
function requireKnownCommand(program: Command, words: readonly string[]): void {
  const [command, [word]] = commandIn(program, words[0] === 'help' ? words.slice(1) : words);
  if (command.commands.length === 0 || word === undefined || word.startsWith('-') || word === 'help') return;
  throw new CommanderError(1, 'commander.unknownCommand', `error: unknown command '${word}'`);
}
