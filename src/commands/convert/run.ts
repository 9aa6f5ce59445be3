import {
  CODES,
  type ConvertedDocument,
  convert,
  type Decision,
  type InputText,
  type NodeFiles,
} from '@machineadm/convert/index.ts';
import { decodeSource } from '@machineadm/document/encodings/decode.ts';
import type { Role } from '@machineadm/document/model/index.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { redact, redactDeep } from '@machineadm/document/redaction/process-redactor.ts';
import { printable } from '@machineadm/document/text/printable.ts';
import { printNotice, printText } from '../../cli/output.ts';
import { isQuiet } from '../../cli/terminal.ts';
import { usageError } from '../../cli/usage-error.ts';
import { writeOutputFiles } from '../../host/local-files/output-file.ts';
import { readInputText } from '../../pipeline/load.ts';

export interface ConvertCommandOptions {
  readonly filename?: readonly string[];
  /** The root directory of a node; true: of this machine. */
  readonly fromNode?: string | true;
  readonly role?: Role;
  readonly kubernetesVersion?: string;
  readonly controlPlaneVersion?: string;
  readonly endpoint?: string;
  readonly caCertHash?: readonly string[];
  readonly inlineSecrets?: true;
  readonly references?: string;
  readonly standalone?: true;
  readonly structure?: true;
  readonly to?: 'machineadmconfigtemplate';
  readonly accept?: readonly string[];
  readonly strict?: true;
  readonly outputDir?: string;
  readonly force?: true;
  readonly report: 'text' | 'json';
}

const SUFFIXES: Readonly<Record<Role, string>> = {
  InitControlPlane: '.init',
  JoinControlPlane: '.join-control-plane',
  Worker: '',
};

/**
 * `machineadm convert`: prints documents to standard output or writes them into a directory, and prints its decisions
 * to standard error. Nothing is written while there is an error or a decision that is not accepted.
 */
export async function convertCommand(options: ConvertCommandOptions): Promise<number> {
  if (options.force === true && options.outputDir === undefined) {
    throw usageError('--force works only with --output-dir', 'Add --output-dir DIRECTORY, or remove the option.');
  }
  const accepted = acceptedCodes(options.accept ?? []);
  if (options.filename === undefined && options.fromNode === undefined) {
    throw usageError('no input given', 'Name it as an argument or with -f, or use --from-node for an existing node.');
  }
  if (options.to !== undefined && options.fromNode !== undefined) {
    throw usageError(
      '--to and --from-node exclude each other',
      'A node exists already: convert the template that new machines are made from.',
    );
  }
  const texts: InputText[] = [];
  for (const source of options.filename ?? []) {
    for (const { name, bytes } of await readInputText(source))
      texts.push({ name, text: await decodeSource(name, bytes) });
  }
  const { documents, decisions } = await convert(texts, {
    role: options.role,
    kubernetesVersion: options.kubernetesVersion,
    controlPlaneVersion: options.controlPlaneVersion,
    endpoint: options.endpoint,
    caCertHashes: options.caCertHash,
    inlineSecrets: options.inlineSecrets,
    references: options.references,
    node: options.fromNode === undefined ? undefined : await nodeFiles(options.fromNode),
    standalone: options.standalone,
    structure: options.structure,
    forProvider: options.to !== undefined,
  });
  const open = decisions.filter((decision) => isOpen(decision, accepted, options.strict === true));
  if (decisions.length > 0) {
    if (options.report !== 'json') printNotice(redact(textOf(decisions)));
    // A JSON line is never wrapped, however narrow the terminal is.
    else if (!isQuiet()) process.stderr.write(`${printable(redact(jsonLines(decisions)))}\n`);
  }
  if (open.length > 0) {
    printNotice(redact(conclusion(open)));
    return exitCode('DocumentInvalid');
  }
  if (options.outputDir === undefined) printText(documents.map(({ yaml }) => yaml).join('---\n'));
  else writeDocuments(documents, options.outputDir, options.force === true);
  return exitCode('Success');
}

/** The reader cannot name the converter's type: its room does not know the converter. */
async function nodeFiles(root: string | true): Promise<NodeFiles> {
  const { readNodeFiles } = await import('./node-files.ts');
  return readNodeFiles(root === true ? '/' : root);
}

function acceptedCodes(given: readonly string[]): ReadonlySet<string> {
  for (const code of given) {
    if (code === 'all' || (Object.hasOwn(CODES, code) && severityOf(code) === 'decision')) continue;
    throw usageError(
      `--accept: "${code}" is not the code of a decision`,
      'The report names the codes; "all" accepts every decision.',
    );
  }
  return new Set(given);
}

function severityOf(code: string): string | undefined {
  return Object.entries(CODES).find(([name]) => name === code)?.[1].severity;
}

function isOpen({ code, severity }: Decision, accepted: ReadonlySet<string>, strict: boolean): boolean {
  if (severity === 'error') return true;
  if (severity === 'note') return false;
  if (severity === 'warning') return strict;
  return !accepted.has(code) && !accepted.has('all');
}

const ORDER: readonly Decision['severity'][] = ['note', 'warning', 'decision', 'error'];

/** The decisions grouped by code, the most severe last: each meaning once, then its places. */
function textOf(decisions: readonly Decision[]): string {
  const codes = [...new Set(decisions.map(({ code }) => code))];
  return codes
    .sort((a, b) => ORDER.indexOf(CODES[a].severity) - ORDER.indexOf(CODES[b].severity))
    .map((code) => {
      const places = decisions.filter((one) => one.code === code).map(({ at, message }) => `  ${at}: ${message}`);
      return [`${CODES[code].severity} ${code}: ${CODES[code].meaning}`, ...places].join('\n');
    })
    .join('\n');
}

function jsonLines(decisions: readonly Decision[]): string {
  return decisions
    .map((decision) => JSON.stringify(redactDeep({ ...decision, meaning: CODES[decision.code].meaning })))
    .join('\n');
}

function conclusion(open: readonly Decision[]): string {
  const codes = (wanted: readonly string[]): string =>
    [...new Set(open.filter(({ severity }) => wanted.includes(severity)).map(({ code }) => code))].join(',');
  const errors = codes(['error']);
  const decisions = codes(['decision']);
  const warnings = codes(['warning']);
  return [
    'machineadm: nothing was written',
    ...(errors === '' ? [] : [`Fix the input or give options for: ${errors}`]),
    ...(decisions === '' ? [] : [`Decide: --accept ${decisions}`]),
    ...(warnings === '' ? [] : [`--strict takes warnings for errors: ${warnings}`]),
  ].join('\n');
}

/**
 * Writes each document to `[NAMESPACE/]NAME[.ROLE].yaml`, readable by root only: most contain secrets, and all describe
 * how a machine is set up.
 */
function writeDocuments(documents: readonly ConvertedDocument[], directory: string, replace: boolean): void {
  const files = documents.map(({ namespace, stem, role, yaml }) => {
    const name = `${stem}${role === undefined ? '' : SUFFIXES[role]}.yaml`;
    return { names: namespace === undefined ? [name] : [namespace, name], content: yaml };
  });
  for (const path of writeOutputFiles(directory, files, { replace, option: '--output-dir' })) {
    printNotice(`wrote ${path}`);
  }
}
