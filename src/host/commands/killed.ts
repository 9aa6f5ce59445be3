import { constants } from 'node:os';
import { type Evidence, MachineadmError } from '@machineadm/document/outcomes/errors.ts';

/** How a signal ended a program. */
export interface Kill {
  /** `SIGKILL` */
  readonly signal: string;
  /** The kernel's out-of-memory counter, where the kernel killed it for lack of memory. */
  readonly outOfMemory: Evidence | undefined;
}

/** Signals caused by the program itself (signal(7)). */
const CRASHES: ReadonlySet<string> = new Set(['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGSYS', 'SIGTRAP']);
const LIMITS: ReadonlySet<string> = new Set(['SIGXCPU', 'SIGXFSZ']);

/**
 * The signal that corresponds to an exit status above 128: a shell reports so how its last command ended (POSIX XCU
 * 2.8.2).
 */
export function signalOfStatus(status: number): string | undefined {
  if (status <= 128) return undefined;
  return Object.entries(constants.signals).find(([, number]) => number === status - 128)?.[0];
}

/** How a program in a shell ended, from the exit status of the shell; undefined where no signal ended it. */
export function killOfStatus(status: number, outOfMemory?: Evidence): Kill | undefined {
  const signal = signalOfStatus(status);
  return signal === undefined ? undefined : { signal, outOfMemory };
}

/** As reported by a shell. */
export function statusOfSignal(signal: string): number {
  return 128 + (Object.entries(constants.signals).find(([name]) => name === signal)?.[1] ?? 0);
}

/** `was killed by SIGKILL: out of memory` */
export function describeKill({ signal, outOfMemory }: Kill): string {
  if (outOfMemory !== undefined) return `was killed by ${signal}: out of memory`;
  return CRASHES.has(signal) ? `crashed (${signal})` : `was killed by ${signal}`;
}

/** The remedy. Neither the document nor the program is at fault. */
export function remedyOfKill({ signal, outOfMemory }: Kill, program: string): string {
  if (outOfMemory !== undefined)
    return 'Give the machine more memory, or raise the memory limit of the unit or container that machineadm runs in (MemoryMax=); then run again.';
  if (CRASHES.has(signal))
    return `Check that ${program} is undamaged and made for this processor, and read "dmesg" or "coredumpctl info"; then run again.`;
  if (LIMITS.has(signal))
    return 'Raise the limit of processor time or file size that machineadm runs under ("ulimit -a"); then run again.';
  return 'Find out what sent the signal: a shutdown, an administrator, the OOM killer ("dmesg | grep -i oom"), or another tool that ends processes; then run again.';
}

/** For a program about which nothing else is known. */
export function commandKilled(program: string, kill: Kill): MachineadmError {
  return new MachineadmError({
    reason: 'CommandKilled',
    summary: `${program} ${describeKill(kill)}.`,
    remedy: remedyOfKill(kill, program),
    evidence: [...(kill.outOfMemory === undefined ? [] : [kill.outOfMemory])],
    retryable: true,
    cause: new ProgramKilled(kill),
  });
}

/** The cause of a `CommandKilled`, for callers that can add details. */
class ProgramKilled extends Error {
  readonly kill: Kill;

  constructor(kill: Kill) {
    super(describeKill(kill));
    this.kill = kill;
  }
}

/** The kill described by an error of `Host.run`; undefined for any other error. */
export function killOf(error: unknown): Kill | undefined {
  return error instanceof MachineadmError && error.cause instanceof ProgramKilled ? error.cause.kill : undefined;
}
