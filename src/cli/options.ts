import { EXIT_CONVENTIONS, type ExitConvention, isExitConvention } from '@machineadm/document/outcomes/exit-codes.ts';
import { type Command, Option } from 'commander';
import { type OutputFormat, parseOutputFormat } from './output-format.ts';
import { COLOR_MODES, type ColorMode, setTerminal } from './terminal.ts';

/** The options of every command that takes a document. */
export interface DocumentOptions {
  readonly document: readonly string[];
  readonly output: OutputFormat;
}

/** An option that stores its value under another name than its flag, so that several flags can share one value. */
class NamedOption extends Option {
  readonly #property: string;

  constructor(flags: string, description: string, property: string) {
    super(flags, description);
    this.#property = property;
  }

  override attributeName(): string {
    return this.#property;
  }
}

/** Makes an option whose value is stored under another name than its flag. */
export function optionFor(property: string, flags: string, description: string): Option {
  return new NamedOption(flags, description, property);
}

/** The flags that an option had in earlier versions. They still work and are not in the help. */
export function formerly(flags: string, property: string): Option {
  return new NamedOption(flags, '', property).hideHelp();
}

/** What a command reads: arguments, `-f` as in kubectl, or the flags that `-f` had before. */
export interface Inputs {
  /** The property of the options that lists the sources in the order given. */
  readonly property: string;
  /** What one of them is called in the usage and in messages. */
  readonly noun: string;
  readonly description: string;
  readonly former?: string;
  /** Absent: the command also works without one. */
  readonly required?: true;
}

const DOCUMENTS: Inputs = {
  property: 'document',
  noun: 'document',
  description: 'a file, a directory of drop-ins, or - for stdin; repeat to merge several in order',
  former: '-d, --document <source>',
};

/** Lets a command take documents: as arguments, with `-f`, or with `-d`. */
export function addDocuments(command: Command, required?: 'required'): Command {
  return addInputs(command, required === undefined ? DOCUMENTS : { ...DOCUMENTS, required: true });
}

/**
 * Lets a command take inputs. They are listed in its options under `property`, which is absent where none was given.
 */
export function addInputs(command: Command, { property, noun, description, former, required }: Inputs): Command {
  command
    .argument(`[${noun}...]`, description)
    .addOption(new NamedOption('-f, --filename <source>', description, property).argParser(several));
  if (former !== undefined) command.addOption(formerly(former, property).argParser(several));
  return command.hook('preAction', () => {
    const named: unknown = command.getOptionValue(property);
    const { args } = command;
    if (args.length > 0 && named !== undefined) {
      command.error(`error: give each ${noun} with -f or as an argument, not both: their order would be unclear`);
    }
    if (args.length > 0) command.setOptionValue(property, [...args]);
    else if (named === undefined && required === true) {
      command.error(`error: no ${noun} given: name it as an argument or with -f`);
    }
  });
}

/** Collects the values of an option that can be repeated. */
export function several(value: string, earlier: readonly string[] | undefined): readonly string[] {
  return [...(earlier ?? []), value];
}

/** Every command that resolves the secrets of a document has this option; see `heedInsecureDocument`. */
export function insecureDocumentOption(): Option {
  return new Option(
    '--insecure-document',
    'accept a document, or files of its secrets, that other users can change or read; for tests',
  );
}

/** Runs before every command. */
export async function heedInsecureDocument(_program: Command, command: Command): Promise<void> {
  if (command.opts().insecureDocument !== true) return;
  (await import('../host/local-files/provenance.ts')).acceptInsecureSources();
}

/**
 * `-o`: the output format, in every command that prints data.
 * @param more formats that this command has beside those of all
 */
export function outputOption(...more: readonly string[]): Option {
  const others = more.map((format) => `, or ${format}`).join('');
  return new Option(
    '-o, --output <format>',
    `the format: text for people, or json, yaml, jsonpath={.field} for programs${others}`,
  )
    .choices(['text', 'json', 'yaml', 'name', 'jsonpath=', ...more])
    .argParser((value) => (more.includes(value) ? value : parseOutputFormat(value)))
    .default('text');
}

/** `--timeout`: how long a command may take. */
export function timeoutOption(what: string): Option {
  return new Option('--timeout <duration>', `the time limit for ${what}, such as 90s or 10m`);
}

/** `--json-stream`: prints the events of a run as JSON while it goes. */
export function jsonStreamOption(): Option {
  return new Option('--json-stream', 'print each event of the run as a line of JSON on stdout, the status last');
}

/** `--sink`: sinks beside those of the document. */
export function sinkOption(): Option {
  return new Option(
    '--sink <sink>',
    "another sink, as in the document's reporting.sinks, such as '{type: Webhook, url: …}'; repeat for more",
  ).argParser(several);
}

/** The flag, and the name it had in earlier user data. */
const INVOKER_FLAGS: readonly string[] = ['--invoker', '--exit-codes'];

export function addInvoker(command: Command): Command {
  const invokers = Object.keys(EXIT_CONVENTIONS);
  return command
    .addOption(
      new NamedOption(
        '--invoker <program>',
        'the program that starts machineadm; the exit codes follow its convention',
        'exitCodes',
      )
        .choices(invokers)
        .default('machineadm'),
    )
    .addOption(formerly('--exit-codes <invoker>', 'exitCodes').choices(invokers));
}

/**
 * The tool whose exit codes a command line asks for, even a wrong command line: a plain 2 would be read as a request to
 * reboot.
 */
export function conventionIn(argv: readonly string[]): ExitConvention {
  const named = argv.flatMap((word, index) => {
    if (INVOKER_FLAGS.includes(word)) return [argv[index + 1] ?? ''];
    return INVOKER_FLAGS.flatMap((flag) => (word.startsWith(`${flag}=`) ? [word.slice(flag.length + 1)] : []));
  });
  return named.find(isExitConvention) ?? 'machineadm';
}

export const COMMON_OPTIONS = 'Common options:';

/** Adds the options that every command has, under a separate heading in the help. */
export function addCommonOptions(command: Command): void {
  const common = [
    new Option('-v, --verbose', 'print more: where the document asks for a change, stack traces of errors'),
    new Option('-q, --quiet', 'print results and errors only').conflicts('verbose'),
    new Option('--color <when>', 'colour the output').choices(COLOR_MODES).default('auto'),
    new Option('--no-color', 'the same as --color never'),
  ];
  for (const option of common) command.addOption(option.helpGroup(COMMON_OPTIONS));
}

/** Applies the options of `addCommonOptions`. Runs before every command. */
export function heedCommonOptions(_program: Command, command: Command): void {
  const { verbose, quiet, color } = command.opts<{ verbose?: true; quiet?: true; color?: ColorMode | false }>();
  setTerminal({
    verbose: verbose === true,
    quiet: quiet === true,
    color: color === false ? 'never' : (color ?? 'auto'),
  });
}

export function trustDirectoryOption(): Option {
  return new Option(
    '--trust-directory <directory>',
    'the directory with a root or keys, revoked keys, the minimum version and the required number of signatures',
  ).default('/etc/machineadm/trust.d');
}

/** `--key`: files with public keys. */
export function keyOption(description: string): Option {
  return new Option('--key <file>', description).argParser(several);
}

/** `--memory`: what this machine has verified before. */
export function memoryOption(): Option {
  return new Option(
    '--memory <file>',
    'the record of verified versions, roots and revoked keys (default: /var/lib/machineadm/trust.json; for other users than root in $XDG_STATE_HOME)',
  );
}
