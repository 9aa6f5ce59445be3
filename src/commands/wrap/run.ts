import { decodeSource } from '@machineadm/document/encodings/decode.ts';
import { type DocumentSource, type LoadedDocument, loadDocument } from '@machineadm/document/loading/load.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { toPlain } from '@machineadm/document/trees/tree.ts';
import { VERBATIM_TAG } from '@machineadm/document/values/verbatim.ts';
import {
  CARRIERS,
  type CarrierName,
  countedBytes,
  type IgnitionVersion,
  installedProgram,
  type ProfileName,
  profileNamed,
  profileNames,
  renderBootstrapSecret,
  SIZE_REMEDIES,
  type Wrapped,
  wrapDocument,
} from '@machineadm/user-data/index.ts';
import { buildInfo } from '../../cli/build-info.ts';
import { printNotice, printText } from '../../cli/output.ts';
import { usageError } from '../../cli/usage-error.ts';
import { writeOutputFile } from '../../host/local-files/output-file.ts';
import { DocumentError, readInputText } from '../../pipeline/load.ts';
import { type DownloadOptions, downloadScriptOf } from './download.ts';

export interface WrapCommandOptions extends DownloadOptions {
  readonly document: readonly string[];
  readonly format: CarrierName;
  readonly provider?: ProfileName;
  readonly binary?: string;
  readonly ignitionVersion?: IgnitionVersion;
  /** The name of the Secret to write. undefined: the user data is written as it is. */
  readonly secret?: string;
  readonly outputFile?: string;
}

/**
 * `machineadm wrap`: writes the user data to standard output or a file, and to standard error its size and what it
 * reveals.
 */
export async function wrapCommand(options: WrapCommandOptions): Promise<number> {
  const read = [];
  for (const source of options.document) read.push(...(await readInputText(source)));
  const loaded = await loadValid(read);
  const written = await carried(await textOf(read, loaded), loaded, options);
  if (options.outputFile === undefined) printText(written);
  else writeOutputFile(options.outputFile, written, '--output-file');
  return exitCode('Success');
}

async function loadValid(sources: readonly DocumentSource[]): Promise<LoadedDocument> {
  const result = await loadDocument(sources, { agentVersion: buildInfo().version });
  if (!result.ok) throw new DocumentError(result.reason, result.problems);
  return result.document;
}

/** The text of a single source keeps its comments; several sources are merged into one document. */
async function textOf(sources: readonly DocumentSource[], loaded: LoadedDocument): Promise<string> {
  const [only, ...others] = sources;
  if (only !== undefined && others.length === 0) return await decodeSource(only.name, only.bytes);
  const { stringify } = await import('yaml');
  return stringify(toPlain(loaded.tree), { lineWidth: 0, customTags: [VERBATIM_TAG] });
}

/**
 * Wraps one document, or writes the Secret that holds it, and prints notes about it to standard error. Throws what
 * `wrapDocument` throws, and `UsageInvalid` for a Secret of a format that Cluster API does not know.
 */
async function carried(text: string, loaded: LoadedDocument, options: WrapCommandOptions): Promise<string> {
  const { format, provider: profile, binary, ignitionVersion, secret } = options;
  const { secretFormat, fetches } = CARRIERS[format];
  if (secret !== undefined && secretFormat === undefined) {
    throw usageError(
      `--secret: Cluster API has no bootstrap data of the format ${format}`,
      'It has cloud-init, cloudbase-init and ignition.',
    );
  }
  if (secret !== undefined && !/^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/.test(secret)) {
    throw usageError(
      `--secret: "${secret}" is not a valid name of a Kubernetes object`,
      'Use lower-case letters, digits, "-" and ".", such as prod-a-worker-1-machineadm.',
    );
  }
  const downloadScript = await downloadScriptOf(options, fetches);
  const wrapped = await wrapDocument(text, loaded, {
    format,
    profile,
    program:
      binary ?? (downloadScript === undefined && runsOnLinux(format) ? installedProgram(process.execPath) : undefined),
    downloadScript,
    ignitionVersion,
  });
  printNotice(redact(describeWrapped(wrapped, profile).join('\n')));
  if (secret === undefined || secretFormat === undefined) return wrapped.userData;
  const { namespace, cluster } = loaded.model.metadata;
  return renderBootstrapSecret({ name: secret, namespace, cluster, format: secretFormat, userData: wrapped.userData });
}

function runsOnLinux(format: CarrierName): boolean {
  return CARRIERS[format].program?.startsWith('/') ?? false;
}

function describeWrapped(
  { format, userData, program, secrets, notes }: Wrapped,
  profile: ProfileName | undefined,
): readonly string[] {
  const bytes = new TextEncoder().encode(userData).length;
  const providers = profileNames().filter((name) =>
    profile === undefined ? profileNamed(name).formats.includes(format) : name === profile,
  );
  const sizes = providers.flatMap((name) => sizeFor(name, userData));
  const tooLarge = sizes.some((line) => line.includes(TOO_LARGE));
  return [
    `${format}: ${bytes} bytes`,
    ...sizes,
    ...(program === undefined ? [] : [`it starts ${program}, which the image must contain (--binary)`]),
    ...(tooLarge ? [`To make it smaller: ${SIZE_REMEDIES}`] : []),
    ...notes.map((note) => `${profile}: ${note}`),
    ...(secrets.length === 0
      ? []
      : [
          `warning: this user data contains secrets in clear text: ${secrets.join(', ')}. Anyone who can read the user data can ` +
            'read them, on the machine and at its provider, as long as the machine lives. Use references under secrets instead.',
        ]),
  ];
}

const TOO_LARGE = 'too large';

function sizeFor(name: ProfileName, userData: string): readonly string[] {
  const profile = profileNamed(name);
  if (profile.limitBytes === undefined) return [];
  const bytes = countedBytes(profile, userData);
  const share = Math.ceil((100 * bytes) / profile.limitBytes);
  const verdict = bytes > profile.limitBytes ? TOO_LARGE : `${share} %`;
  const what = profile.counted === 'base64' ? ' in base64' : '';
  return [`  ${name.padEnd(6)} ${profile.title}: ${bytes} of ${profile.limitBytes} bytes${what}, ${verdict}`];
}
