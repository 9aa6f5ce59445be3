import { type Evidence, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';

/** Reasons to refuse a file, whichever source it comes from. */
export type RefusalReason = Extract<
  Reason,
  | 'ReleaseManifestInvalid'
  | 'SignatureInvalid'
  | 'SigningKeyRevoked'
  | 'DigestMismatch'
  | 'ReleaseVersionMismatch'
  | 'ReleaseTooOld'
  | 'WrongPlace'
  | 'RolledBack'
  | 'SignatureExpired'
  | 'TooFewSignatures'
  | 'TrustRootRefused'
  | 'WebPageReceived'
  | 'RedirectRefused'
>;

const REMEDIES: Readonly<Record<RefusalReason, string>> = {
  ReleaseManifestInvalid: 'Fill the mirror again from a release: its files are not those of a release.',
  SignatureInvalid:
    'Check that the file, its signature and the trusted keys belong together (machineadm verify shows the keys); do not use the file.',
  SigningKeyRevoked:
    'Download the release again from its publisher, who has signed it with another key; do not use this one.',
  DigestMismatch: 'Do not use the file. Find out why it differs from the published one.',
  ReleaseVersionMismatch: 'Request the version at that location, or publish the requested version there.',
  ReleaseTooOld: 'Use a newer release; the publisher or the operator of this machine no longer allows this one.',
  WrongPlace:
    'Fetch a release with --release. Have another directory signed for its place: npm run release -- --list DIRECTORY --place PLACE.',
  RolledBack:
    'Do not use the files. Put the newest signed directory into the mirror, or find out who serves an older one.',
  SignatureExpired: 'Put a freshly signed directory into the mirror, or correct the clock of this machine.',
  TooFewSignatures:
    'Have it signed with more of the keys that are trusted for it (machineadm trust check shows the keys).',
  TrustRootRefused: 'Use a root that its publisher made, or the one that follows the trusted one.',
  WebPageReceived: 'Open the URL in a browser: a portal, a proxy or a login page answers instead of the server.',
  RedirectRefused: 'Name the final https URL, or fix the redirect of the server.',
};

/** A file is refused: none of it is used, and asking the same source again does not help. */
export function refusal(
  reason: RefusalReason,
  summary: string,
  evidence: readonly Evidence[] = [],
  remedy = REMEDIES[reason],
): MachineadmError {
  return new MachineadmError({ reason, summary, remedy, evidence });
}

export function isRefusal(error: unknown): boolean {
  return error instanceof MachineadmError && error.reason in REMEDIES;
}

/** A captive portal answers every request with 200 and its own page. */
export function looksLikeWebPage(head: Uint8Array): boolean {
  return /^\uFEFF?\s*<(!doctype\s+html|html|head|script|meta)\b/i.test(
    Buffer.from(head.subarray(0, 256)).toString('utf8'),
  );
}

/** Arguments of a command that do not fit. */
export function usageOf(command: 'fetch' | 'verify', problem: string): MachineadmError {
  return new MachineadmError({
    reason: 'DownloadInvalid',
    summary: problem,
    remedy: `See machineadm ${command} --help.`,
  });
}
