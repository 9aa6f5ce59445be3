import { conventionalExitCode, EXIT_CODES, exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { Command, CommanderError } from 'commander';
import { buildInfo } from '../cli/build-info.ts';
import { type CommandTable, commandIn, helpHint, leavesOf, withSubcommand } from '../cli/command-tree.ts';
import { fittedHelp } from '../cli/layout.ts';
import { addCommonOptions, conventionIn, heedCommonOptions, heedInsecureDocument } from '../cli/options.ts';
import { printError, printText } from '../cli/output.ts';
import { formatIn } from '../cli/output-format.ts';
import { wrapWidthOf } from '../cli/terminal.ts';
import { addAudit } from './audit/index.ts';
import { addBundle } from './bundle/index.ts';
import { addComplete, addCompletion } from './completion/index.ts';
import { addConfig } from './config/index.ts';
import { addConformance } from './conformance/index.ts';
import { addConvert } from './convert/index.ts';
import { addDiagnose } from './diagnose/index.ts';
import { addDoctor } from './doctor/index.ts';
import { addExample } from './example.ts';
import { addExplain } from './explain/index.ts';
import { addFacts } from './facts/index.ts';
import { addFetch } from './fetch/index.ts';
import { addHooks } from './hooks/index.ts';
import { addImages } from './images/index.ts';
import { addPlan } from './plan/index.ts';
import { addPrepare } from './prepare/index.ts';
import { addProvision } from './provision/index.ts';
import { addRender } from './render/index.ts';
import { addReport } from './report/index.ts';
import { addReset } from './reset/index.ts';
import { addSchema } from './schema/index.ts';
import { addSend } from './send/index.ts';
import { addSentinel } from './sentinel/index.ts';
import { addStatus } from './status/index.ts';
import { addTimeline } from './timeline/index.ts';
import { addTrust } from './trust/index.ts';
import { addUpgrade } from './upgrade/index.ts';
import { addValidate } from './validate/index.ts';
import { addVerify } from './verify/index.ts';
import { addVersion } from './version.ts';
import { addWrap } from './wrap/index.ts';

/** Every command, by the heading in the help and in the order of the help. */
const GROUPS: Readonly<Record<string, CommandTable>> = {
  'Write a document:': {
    example: addExample,
    explain: addExplain,
    schema: addSchema,
    validate: addValidate,
    config: addConfig,
    images: addImages,
    render: addRender,
    convert: addConvert,
    wrap: addWrap,
  },
  'Change this machine:': {
    plan: addPlan,
    provision: addProvision,
    prepare: addPrepare,
    upgrade: addUpgrade,
    reset: addReset,
  },
  'Look at this machine:': {
    status: addStatus,
    timeline: addTimeline,
    doctor: addDoctor,
    facts: addFacts,
    diagnose: addDiagnose,
    bundle: addBundle,
    audit: addAudit,
    conformance: addConformance,
    report: addReport,
  },
  'Get and verify files:': {
    verify: addVerify,
    fetch: addFetch,
    trust: addTrust,
    sentinel: addSentinel,
    send: addSend,
    hooks: addHooks,
  },
  'Other commands:': {
    completion: addCompletion,
    __complete: addComplete,
    version: addVersion,
  },
};

const CODES = Object.values(EXIT_CODES).map(({ code, meaning }) => `  ${String(code).padStart(2)}  ${meaning}`);

/** Printed after the program's help. */
const EXAMPLES = `
Examples:
  machineadm example --role Worker > bootstrap.yaml    a document to start from
  machineadm validate -f bootstrap.yaml                every mistake at once, with its place
  machineadm plan -f bootstrap.yaml                    what would change on this machine
  machineadm provision -f bootstrap.yaml               do it
  machineadm status                                    how it went

Exit codes:
${CODES.join('\n')}

Documentation: man machineadm, https://machineadm.dev`;

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
  const words = withSubcommand(program, argv.slice(2));
  try {
    requireKnownCommand(program, words);
    // Commander's own `help` knows only the commands of the first level.
    const asked = words[0] === 'help' ? [...words.slice(1), '--help'] : words;
    await program.parseAsync(asked, { from: 'user' });
    return outcome.status;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCode('Success');
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
