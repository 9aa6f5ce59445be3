/** The search path for programs; Flatcar and other immutable systems keep added ones in /opt/bin. */
export const PATH_OF_ROOT: readonly string[] = [
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/sbin',
  '/usr/bin',
  '/sbin',
  '/bin',
  '/opt/bin',
];

/** Marks a supervised command with the run it belongs to; see `endOrphans`. */
export const RUN_MARK = 'MACHINEADM_RUN';

/**
 * The environment of a child. The caller's environment is not passed on: it may contain secrets, and a proxy or
 * LD_PRELOAD of an interactive shell must not make a run differ from one at boot.
 */
export function cleanEnvironment(added: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { PATH: PATH_OF_ROOT.join(':'), HOME: '/root', LANG: 'C.UTF-8', ...added };
}
