import { decodeSource } from '@machineadm/document/encodings/decode.ts';
import { loadFor, problemOfError, warningsOf } from '@machineadm/document/loading/library-source.ts';
import type { Problem } from '@machineadm/document/loading/problem.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { type ProfileName, profileNames, wrapDocument } from './index.ts';

/** The public module `machineadm/wrap`. Its types refer to no internal type, so that they stay stable. */

export interface WrapOptions {
  /** The version of machineadm on the machine, for the document's `requires`. */
  readonly agentVersion: string;
  readonly format: 'cloud-init' | 'ignition' | 'cloudbase-init' | 'unattend' | 'talos' | 'script';
  /** The infrastructure provider, for its limits: `capa`, `capz`, as listed by `machineadm wrap --help`. */
  readonly profile?: string;
  /** Absolute path of machineadm in the image. */
  readonly program?: string;
  /** A script that installs machineadm on the machine, see docs/trust.md; without one, machineadm is in the image. */
  readonly downloadScript?: string;
  /** Default: 3.3.0. */
  readonly ignitionVersion?: '3.0.0' | '3.1.0' | '3.2.0' | '3.3.0';
}

export type Wrapping =
  | {
      readonly valid: true;
      readonly userData: string;
      /** Names of the secrets that the user data contains in clear text. */
      readonly secrets: readonly string[];
      /** Remarks about the provider. */
      readonly notes: readonly string[];
      readonly warnings: readonly Problem[];
    }
  | { readonly valid: false; readonly problems: readonly Problem[] };

/**
 * Wraps a document in user data, as `machineadm wrap` does. Never throws because of the document, the format or the
 * provider.
 */
export async function wrap(document: string, options: WrapOptions): Promise<Wrapping> {
  const loaded = await loadFor(document, options.agentVersion);
  if ('problems' in loaded) return { valid: false, problems: loaded.problems };
  const { format, profile, program, downloadScript, ignitionVersion } = options;
  try {
    const text = await decodeSource('document', new TextEncoder().encode(document));
    if (profile !== undefined && !isProfile(profile)) throw noProfile(profile);
    const wish = { format, profile, program, downloadScript, ignitionVersion };
    const { userData, secrets, notes } = await wrapDocument(text, loaded.document, wish);
    return { valid: true, userData, secrets, notes, warnings: warningsOf(loaded) };
  } catch (error) {
    if (!(error instanceof MachineadmError)) throw error;
    return { valid: false, problems: [problemOfError(error, error.reason)] };
  }
}

function isProfile(name: string): name is ProfileName {
  return profileNames().some((known) => known === name);
}

function noProfile(name: string): MachineadmError {
  return new MachineadmError({
    reason: 'UsageInvalid',
    summary: `there is no provider "${name}"`,
    remedy: `Use one of ${profileNames().join(', ')}.`,
  });
}
