import type { Command, CommandResult } from '../seam/host.ts';

/**
 * All that the Windows host needs of a Windows machine; everything else in this room is made of it. The real one is
 * `this-system.ts`. Tests on Linux put a recorded machine in its place (`test/support/windows-machine.ts`).
 */
export interface WindowsSystem {
  /**
   * Runs a program, given by its absolute path, to its end. Throws `HostStepFailed` when it could not be started or was
   * aborted.
   */
  run(command: Command): Promise<CommandResult>;
  /** Where node:fs finds a path with a drive: on Windows, there. */
  native(path: string): string;
}
