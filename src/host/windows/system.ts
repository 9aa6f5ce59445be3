import type { Command, CommandResult } from '../seam/host.ts';

/**
 * All that the Windows host needs from a Windows machine. The real implementation is `this-system.ts`. Tests on Linux
 * use a recorded machine (`test/support/windows-machine.ts`).
 */
export interface WindowsSystem {
  /**
   * Runs a program, given by its absolute path, to its end. Throws `HostStepFailed` when it could not be started or was
   * aborted.
   */
  run(command: Command): Promise<CommandResult>;
  /** The path for node:fs of a path with a drive: on Windows the same. */
  native(path: string): string;
}
