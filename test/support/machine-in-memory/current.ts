import { Buffer } from 'node:buffer';
import type { BackgroundCommand } from '../../../src/host/processes/background.ts';
import type { Facts } from '../../../src/host/seam/facts.ts';
import type { MemoryHost } from '../memory-host.ts';

/** The machine that the commands of one test see. */
export interface MachineInMemory {
  readonly host: MemoryHost;
  readonly facts: Facts;
  /** Paths of the locks that are held now. */
  readonly locks: Set<string>;
  /** Programs that were started to outlive the command. */
  readonly started: BackgroundCommand[];
  /** Ids of the killed runs whose processes were ended. */
  readonly orphansOf: string[];
}

let current: MachineInMemory | undefined;

export function currentMachine(): MachineInMemory {
  if (current === undefined) throw new Error('no test runs a command on a machine in memory');
  return current;
}

export function useMachine(machine: MachineInMemory | undefined): void {
  current = machine;
}

/** The bytes of a file; none where it does not exist. */
export function bytesAt(path: string): Uint8Array {
  return Buffer.from(currentMachine().host.text(path) ?? '');
}
