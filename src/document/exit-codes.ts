/**
 * The one table of exit codes. Every command uses it; `contract/exit-codes.json` is generated from it.
 * A code is never renumbered or reused.
 */
export const EXIT_CODES = {
  Success: { code: 0, meaning: 'success' },
  InternalError: { code: 1, meaning: 'internal error: a defect in machineadm' },
  Usage: { code: 2, meaning: 'wrong command line' },
  DocumentInvalid: { code: 3, meaning: 'the document is invalid or needs a decision' },
  Refused: { code: 4, meaning: 'refused before any change (precondition, locked, document changed)' },
  HostStepFailed: { code: 10, meaning: 'a host step failed' },
  BootstrapperFailed: { code: 11, meaning: 'the bootstrapper (kubeadm) failed' },
  NotReady: { code: 12, meaning: 'the bootstrapper succeeded but the node did not become ready' },
  DeadlinePassed: { code: 13, meaning: 'a deadline passed' },
  Interrupted: { code: 14, meaning: 'interrupted by a signal or killed' },
  AfterHookFailed: { code: 15, meaning: 'bootstrapped, but an afterBootstrap hook failed' },
  RebootRequired: { code: 16, meaning: 'a reboot is required to continue' },
  DifferencesFound: { code: 20, meaning: 'differences found (plan --exit-code, audit, conformance)' },
  VerificationRefused: { code: 21, meaning: 'a signature or digest was refused' },
} as const;

export type ExitName = keyof typeof EXIT_CODES;

/** The numeric process exit status for a named outcome. */
export function exitCode(name: ExitName): number {
  return EXIT_CODES[name].code;
}
