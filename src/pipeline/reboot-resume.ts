import { resolve } from 'node:path';
import { errorMessage } from '@machineadm/document/errors.ts';
import type { ExitConvention } from '@machineadm/document/exit-codes.ts';
import { areInsecureSourcesAccepted } from '../host/files/provenance.ts';
import { selfCommand } from '../host/processes/identity.ts';
import { type Resumption, requestReboot, resumptionOf } from '../host/processes/reboot.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { Host } from '../host/seam/host.ts';
import type { Conclusion } from './conclusion.ts';

/** What of a request decides how a run goes on that is cut off. */
export interface Started {
  readonly command: 'provision' | 'prepare';
  readonly sources: readonly string[];
  readonly sinks?: readonly string[];
  /** Who started the run, and reads its exit code; default machineadm's own convention. */
  readonly invoker?: ExitConvention;
}

/** How a run is gone on with at the next boot, from its first change until its end. */
export interface RebootResume {
  /** What is true once it ended. `warn` is told what could not be tidied up. */
  concluded(outcome: Conclusion['outcome'], warn: (message: string) => void): Promise<void>;
}

/** A document on standard input is gone with its process: nobody could go on with it. */
export function canGoOn({ command, sources }: Started): boolean {
  return command === 'provision' && !sources.includes('-');
}

/**
 * Makes sure that this run is gone on with at the next boot, whether it ends for a reboot or is killed: before it changes
 * anything, since nobody could do it afterwards. Setup repeats its command itself, long before tasks are started.
 * Throws `ResumptionNotArranged`.
 */
export async function arrangeResume(
  host: Host,
  facts: Pick<Facts, 'platform'>,
  started: Started,
): Promise<RebootResume> {
  let resumption: Resumption | undefined;
  if (canGoOn(started) && started.invoker !== 'unattend') resumption = await resumptionOf(host, facts.platform);
  await resumption?.arrange(resumingCommand(started, selfCommand()));
  return {
    async concluded(outcome, warn) {
      // An interrupted run, and one that waits for its reboot, are what it is there for.
      if (outcome === 'Interrupted' || outcome === 'RebootRequired') return;
      try {
        await resumption?.forget();
      } catch (error) {
        // It finds nothing to go on with, then.
        warn(errorMessage(error));
      }
    },
  };
}

/** @param self absolute path of the program and the arguments that stand for machineadm */
export function resumingCommand({ sources, sinks = [] }: Started, self: readonly string[]): readonly string[] {
  return [
    ...self,
    'provision',
    '--resume',
    ...(areInsecureSourcesAccepted() ? ['--insecure-document'] : []),
    ...sources.flatMap((source) => ['-d', resolve(source)]),
    ...sinks.flatMap((sink) => ['--sink', sink]),
  ];
}

/** Whether a run ended for a reboot behind which it goes on by itself. */
export function endedForReboot({ failure }: Pick<Conclusion, 'failure'>): boolean {
  return failure?.reason === 'Rebooting';
}

/** Has the machine reboot, where that is for us. The last thing of a run. Throws `RebootRequired`. */
export async function rebootIfOurs(
  host: Host,
  { platform }: Pick<Facts, 'platform'>,
  { invoker = 'machineadm' }: Started,
  conclusion: Conclusion,
): Promise<void> {
  if (endedForReboot(conclusion) && invoker === 'machineadm') await requestReboot(host, platform);
}
