import type { Model } from '@machineadm/document/model.ts';

/** The versions of Ignition's configuration that carriers are written in; what is used of it is the same in all. */
export const IGNITION_VERSIONS = ['3.0.0', '3.1.0', '3.2.0', '3.3.0'] as const;

export type IgnitionVersion = (typeof IGNITION_VERSIONS)[number];

/** What a carrier is made of. */
export interface Load {
  /** The text that the machine's machineadm reads with `-d`. */
  readonly document: string;
  /** How the document lies in the carrier, where there is a choice: Ignition, scripts and answer files always compress. */
  readonly encoding: 'gzip+base64' | 'base64';
  /** Absolute path of machineadm in the image; of no use where a download script is given, or the carrier starts nothing. */
  readonly program: string;
  /**
   * The script, in the language of `fetches`, that gets, verifies and installs machineadm, and runs it with the arguments it
   * is given; undefined = it is in the image.
   */
  readonly downloadScript: string | undefined;
  readonly ignitionVersion: IgnitionVersion;
}

/**
 * How a document gets onto a machine at its first boot. One file of this directory each, and its line in `carriers.ts`
 * (docs/adding-a-carrier.md).
 */
export interface Carrier {
  /** Who reads it, for people. */
  readonly consumer: string;
  /** Where machineadm is in an image unless it is told otherwise; undefined = the carrier does not start it. */
  readonly program: string | undefined;
  /** What the script is written in that it brings along to get machineadm (`--fetch`); undefined = it cannot. */
  readonly fetches: 'sh' | 'powershell' | undefined;
  /**
   * What the key `format` of Cluster API's bootstrap data Secret says for it; undefined where Cluster API knows no such
   * format, and a provider would inject nothing or garbage.
   */
  readonly secretFormat: 'cloud-config' | 'ignition' | undefined;
  /** Why this document cannot go this way; undefined = it can. */
  readonly refuses?: (model: Model) => string | undefined;
  /** Throws `UserDataTooLarge` where the consumer itself has a limit that the document passes. */
  readonly wrap: (load: Load) => Promise<string>;
}
