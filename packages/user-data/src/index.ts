import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import { documentSecrets } from '@machineadm/document/loading/secrets-of.ts';
import type { Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Carrier, IgnitionVersion } from './carrier.ts';
import { CARRIERS, type CarrierName } from './carriers.ts';
import { countedBytes, type ProfileName, profileNamed } from './profiles.ts';

export { type BootstrapSecret, renderBootstrapSecret } from './bootstrap-secret.ts';
export { IGNITION_VERSIONS, type IgnitionVersion } from './carrier.ts';
export { CARRIERS, type CarrierName } from './carriers.ts';
export { installedProgram } from './linux.ts';
export { countedBytes, type ProfileName, profileNamed, profileNames, tooLargeFor } from './profiles.ts';

export interface WrapOptions {
  readonly format: CarrierName;
  /** undefined = no particular provider, so no size limit applies. */
  readonly profile?: ProfileName | undefined;
  /** Absolute path of machineadm in the image; default: the carrier's. */
  readonly program?: string | undefined;
  /** The result of `renderDownloadScript`; undefined = machineadm is in the image. */
  readonly downloadScript?: string | undefined;
  /** Default: 3.3.0. */
  readonly ignitionVersion?: IgnitionVersion | undefined;
}

export interface Wrapped {
  readonly format: CarrierName;
  readonly userData: string;
  /** Absolute path of the program that it starts; undefined where it brings the program along or starts nothing. */
  readonly program: string | undefined;
  /** Names of the secrets that it contains in clear text. */
  readonly secrets: readonly string[];
  /** Remarks for the user about the chosen provider. */
  readonly notes: readonly string[];
}

/**
 * Wraps a document in the user data of a first-boot system. Pure: the same document gives the same user data, also in a
 * browser or a controller.
 *
 * @param text the document as the machine will read it; `loaded` is the same document, validated
 * Throws `UnsupportedOnPlatform` (the document needs something that this format cannot do), `UserDataTooLarge` and
 * `UsageInvalid`.
 */
export async function wrapDocument(
  text: string,
  loaded: Pick<LoadedDocument, 'model' | 'tree'>,
  options: WrapOptions,
): Promise<Wrapped> {
  const { format, downloadScript } = options;
  assertAccepted(loaded, options);
  const userData = await renderUserData(text, options);
  const carrier: Carrier = CARRIERS[format];
  const profile = options.profile === undefined ? undefined : profileNamed(options.profile);
  const secrets = documentSecrets(loaded).flatMap(({ name, source }) => (source.kind === 'value' ? [name] : []));
  const notes = [...(profile?.notes ?? []), ...(profile?.lacks?.(loaded.model) ?? [])];
  const program =
    downloadScript === undefined && carrier.program !== undefined ? programOf(carrier, options) : undefined;
  return { format, userData, program, secrets: [...new Set(secrets)], notes };
}

/** Throws where a format or a provider does not take a document, whatever its size is: as `wrapDocument` does. */
export function assertAccepted({ model }: Pick<LoadedDocument, 'model'>, options: WrapOptions): void {
  const { format, downloadScript, ignitionVersion } = options;
  const carrier: Carrier = CARRIERS[format];
  const profile = options.profile === undefined ? undefined : profileNamed(options.profile);
  if (profile !== undefined && !profile.formats.includes(format)) {
    throw usage(`${options.profile} does not hand on ${format}`, `It takes ${profile.formats.join(', ')}.`);
  }
  if (downloadScript !== undefined && carrier.fetches === undefined) {
    throw usage(
      `${format} cannot bring machineadm along`,
      `Put it into the image of ${carrier.consumer}, and leave --fetch out.`,
    );
  }
  if (ignitionVersion !== undefined && format !== 'ignition') {
    throw usage(`${format} has no version of Ignition`, 'Leave --ignition-version out, or take --format ignition.');
  }
  const why = carrier.refuses?.(model);
  if (why !== undefined) {
    throw new MachineadmError({
      reason: 'UnsupportedOnPlatform',
      summary: `the document cannot go to ${carrier.consumer}: ${why}`,
      remedy: remedyOfRefusal(model),
    });
  }
}

/**
 * The user data of a document that `assertAccepted` has accepted, with the same options. Throws `UserDataTooLarge` and
 * `UsageInvalid`.
 */
export async function renderUserData(text: string, options: WrapOptions): Promise<string> {
  const { format, downloadScript, ignitionVersion } = options;
  const carrier: Carrier = CARRIERS[format];
  const profile = options.profile === undefined ? undefined : profileNamed(options.profile);
  const userData = await carrier.wrap({
    document: text,
    encoding: profile?.encoding ?? 'gzip+base64',
    program: programOf(carrier, options),
    downloadScript,
    ignitionVersion: ignitionVersion ?? '3.3.0',
  });
  if (profile?.limitBytes !== undefined && countedBytes(profile, userData) > profile.limitBytes) {
    throw new MachineadmError({
      reason: 'UserDataTooLarge',
      summary: `the user data has ${countedBytes(profile, userData)} bytes, and ${profile.title} accepts ${profile.limitBytes}`,
      remedy: SIZE_REMEDIES,
    });
  }
  return userData;
}

/** The formats that can take a document which one of them refuses. */
function remedyOfRefusal(model: Model): string {
  const fit = Object.entries<Carrier>(CARRIERS).flatMap(([name, one]) =>
    one.refuses?.(model) === undefined ? [name] : [],
  );
  if (fit.length === 0) return 'Correct the named fields.';
  return `Use a format that takes this document (--format ${fit.join(', ')}), or correct the named fields.`;
}

/** Remedies for user data that is too large. */
export const SIZE_REMEDIES =
  'Fetch files by http with their digest, and keys and certificates from a secret store (a reference under secrets). Use ECDSA keys ' +
  'instead of RSA keys (kubernetes.cluster.encryptionAlgorithm). Put everything that all machines share into the image.';

/** No character that a shell, a batch file, systemd or YAML would interpret in a path. */
const PROGRAM = /^(?:\/[A-Za-z0-9._/+-]+|[A-Z]:(?:\\[A-Za-z0-9._+-]+)+)$/;

function programOf(carrier: Carrier, { format, program, downloadScript }: WrapOptions): string {
  if (program === undefined) return carrier.program ?? '';
  if (carrier.program === undefined) throw usage(`--binary: ${format} starts no program`, 'Leave --binary out.');
  if (downloadScript !== undefined) {
    throw usage(
      '--binary is where an image has machineadm',
      'With --fetch it is not in the image: leave --binary out.',
    );
  }
  const isWindows = carrier.program.includes('\\');
  if (PROGRAM.test(program) && program.includes('\\') === isWindows) return program;
  throw usage(`--binary: "${program}" is not a plain absolute path`, `Give one like ${carrier.program}.`);
}

function usage(summary: string, remedy: string): MachineadmError {
  return new MachineadmError({ reason: 'UsageInvalid', summary, remedy });
}
