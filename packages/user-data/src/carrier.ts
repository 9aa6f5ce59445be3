import type { Model } from '@machineadm/document/model/index.ts';

/** The supported versions of Ignition's configuration. The parts used here are identical in all of them. */
export const IGNITION_VERSIONS = ['3.0.0', '3.1.0', '3.2.0', '3.3.0'] as const;

export type IgnitionVersion = (typeof IGNITION_VERSIONS)[number];

/** The input of a carrier. */
export interface Load {
  /** The document, as the machine reads it with `-d`. */
  readonly document: string;
  /** How the document is encoded, where there is a choice: Ignition, scripts and answer files always compress it. */
  readonly encoding: 'gzip+base64' | 'base64';
  /** Absolute path of machineadm in the image. Ignored with a download script, or where the carrier starts nothing. */
  readonly program: string;
  /**
   * The script, in the language of `fetches`, that downloads, verifies and installs machineadm, then runs it with the
   * given arguments; undefined = machineadm is in the image.
   */
  readonly downloadScript: string | undefined;
  readonly ignitionVersion: IgnitionVersion;
}

/**
 * A format of user data: how a document reaches a machine at its first boot. Each format is one file of this directory
 * and a line in `carriers.ts` (docs/adding-a-carrier.md).
 */
export interface Carrier {
  /** The program that reads it, for messages. */
  readonly consumer: string;
  /** The default path of machineadm in an image; undefined = the carrier does not start it. */
  readonly program: string | undefined;
  /** The language of the download script (`--fetch`); undefined = this format cannot carry one. */
  readonly fetches: 'sh' | 'powershell' | undefined;
  /**
   * The value of the key `format` in Cluster API's bootstrap data Secret; undefined where Cluster API knows no such
   * format, so that a provider would inject nothing or garbage.
   */
  readonly secretFormat: 'cloud-config' | 'ignition' | undefined;
  /** Why this document cannot be delivered in this format; undefined = it can. */
  readonly refuses?: (model: Model) => string | undefined;
  /** Throws `UserDataTooLarge` where the document exceeds a limit of the consumer itself. */
  readonly wrap: (load: Load) => Promise<string>;
}
