/**
 * The table of exit codes for all commands; `contract/exit-codes.json` is generated from it. A code is never renumbered
 * or reused.
 */
export const EXIT_CODES = {
  Success: { code: 0, meaning: 'success' },
  InternalError: { code: 1, meaning: 'internal error: a defect in machineadm' },
  Usage: { code: 2, meaning: 'wrong command line' },
  DocumentInvalid: { code: 3, meaning: 'the document is invalid or needs a decision' },
  Refused: {
    code: 4,
    meaning: 'refused before any change (precondition, locked, document changed); plan: provision would refuse',
  },
  HostStepFailed: { code: 10, meaning: 'a host step failed' },
  BootstrapperFailed: { code: 11, meaning: 'the bootstrapper (kubeadm) failed' },
  NotReady: { code: 12, meaning: 'the bootstrapper succeeded but the node did not become ready' },
  DeadlinePassed: { code: 13, meaning: 'a deadline passed' },
  Interrupted: { code: 14, meaning: 'interrupted by a signal or killed' },
  AfterHookFailed: { code: 15, meaning: 'bootstrapped, but an afterBootstrap hook failed' },
  RebootRequired: { code: 16, meaning: 'a reboot is required to continue' },
  DifferencesFound: { code: 20, meaning: 'differences found (plan --exit-code, audit, conformance)' },
  VerificationRefused: { code: 21, meaning: 'a signature or digest was refused' },
  NotProven: { code: 22, meaning: 'a required check could not be decided (conformance)' },
} as const;

export type ExitName = keyof typeof EXIT_CODES;

/** The numeric process exit status for a named outcome. */
export function exitCode(name: ExitName): number {
  return EXIT_CODES[name].code;
}

/** The caller of machineadm, which interprets its exit status. */
export type ExitConvention = keyof typeof EXIT_CONVENTIONS;

/**
 * How a caller that supports few exit codes interprets them.
 * `rebooting`: the run needs a reboot, which the caller makes; undefined = machineadm reboots itself, and exits with
 * the code of `RebootRequired`. `taken`: numbers with another meaning there than our failures.
 */
export const EXIT_CONVENTIONS = {
  machineadm: { rebooting: undefined, taken: [] },
  // cloudbaseinit/plugins/common/execcmd.py: 1001 reboots and does not repeat the script; our own task does.
  // cloud-config's runcmd makes 1003 of it, and repeats the script beside that task: one of them finds the other's
  // lock. Other codes are ignored.
  'cloudbase-init': { rebooting: 1001, taken: [1001, 1002, 1003] },
  // Unattended Windows Setup Reference, RunSynchronousCommand/WillReboot=OnRequest: 1 reboots and continues with the
  // next command, 2 reboots and repeats this one, and all other failures end Setup.
  unattend: { rebooting: 2, taken: [1, 2] },
} as const satisfies Record<string, { readonly rebooting: number | undefined; readonly taken: readonly number[] }>;

/** The code for a failure whose own number would be misinterpreted. */
const UNMISTAKABLE_FAILURE = 3;

/**
 * The exit status of a run for its caller.
 *
 * @param code one of `EXIT_CODES`
 * @param rebooting the run ended for a reboot after which it resumes by itself
 */
export function conventionalExitCode(convention: ExitConvention, code: number, rebooting: boolean): number {
  const { rebooting: wish, taken } = EXIT_CONVENTIONS[convention];
  if (rebooting && wish !== undefined) return wish;
  const numbers: readonly number[] = taken;
  return numbers.includes(code) ? UNMISTAKABLE_FAILURE : code;
}

export function isExitConvention(name: string): name is ExitConvention {
  return Object.hasOwn(EXIT_CONVENTIONS, name);
}
