import { resolve } from 'node:path';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import type { ExitConvention } from '@machineadm/document/outcomes/exit-codes.ts';
import { areInsecureSourcesAccepted } from '../host/local-files/provenance.ts';
import { selfCommand } from '../host/processes/identity.ts';
import { type Resumption, requestReboot, resumptionOf } from '../host/processes/reboot.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { Host } from '../host/seam/host.ts';
import { type UpgradeOptions, upgradeArguments } from '../step/upgrade-order.ts';
import type { Conclusion } from './conclusion.ts';

/** The parts of a request that decide how an interrupted run resumes. */
export interface Started {
  /** `prepare` makes only the changes that belong in an image. */
  readonly command: 'provision' | 'prepare' | 'upgrade';
  /** Of an upgrade: its options. */
  readonly upgrade?: UpgradeOptions;
  readonly sources: readonly string[];
  /** Sinks of the command line, in addition to the document's; see `withSinks`. */
  readonly sinks?: readonly string[];
  /** The caller, which interprets the exit code; default: machineadm's own convention. */
  readonly invoker?: ExitConvention;
}

/** How a run resumes at the next boot, from its first change until its end. */
export interface RebootResume {
  /** Ends the arrangement after the run. `warn` is called where cleaning up failed. */
  concluded(outcome: Conclusion['outcome'], warn: (message: string) => void): Promise<void>;
}

/** A document on standard input is lost with its process: the run could not be resumed. */
export function canResume({ command, sources }: Started): boolean {
  return command !== 'prepare' && !sources.includes('-');
}

/**
 * Ensures that this run resumes at the next boot, after a reboot or a kill. It is arranged before the first change,
 * because a killed process cannot do it. Windows Setup repeats its command itself, long before tasks start. Throws
 * `ResumptionNotArranged`.
 */
export async function arrangeResume(
  host: Host,
  facts: Pick<Facts, 'platform'>,
  started: Started,
): Promise<RebootResume> {
  let resumption: Resumption | undefined;
  if (canResume(started) && started.invoker !== 'unattend') resumption = await resumptionOf(host, facts.platform);
  await resumption?.arrange(resumingCommand(started, selfCommand()));
  return {
    async concluded(outcome, warn) {
      // Needed after an interruption, and for a pending reboot.
      if (outcome === 'Interrupted' || outcome === 'RebootRequired') return;
      try {
        await resumption?.forget();
      } catch (error) {
        // Then it finds nothing to resume.
        warn(errorMessage(error));
      }
    },
  };
}

/** @param self absolute path of the program and the arguments that start machineadm */
export function resumingCommand(
  { command, sources, sinks = [], upgrade }: Started,
  self: readonly string[],
): readonly string[] {
  return [
    ...self,
    command,
    '--resume',
    ...(upgrade === undefined ? [] : upgradeArguments(upgrade)),
    ...(areInsecureSourcesAccepted() ? ['--insecure-document'] : []),
    ...sources.flatMap((source) => ['-d', resolve(source)]),
    ...sinks.flatMap((sink) => ['--sink', sink]),
  ];
}

/** Whether a run ended for a reboot after which it resumes by itself. */
export function endedForReboot({ failure }: Pick<Conclusion, 'failure'>): boolean {
  return failure?.reason === 'Rebooting';
}

/** Requests the reboot, if that is machineadm's task. The last action of a run. Throws `RebootRequired`. */
export async function rebootIfOurs(
  host: Host,
  { platform }: Pick<Facts, 'platform'>,
  { invoker = 'machineadm' }: Started,
  conclusion: Conclusion,
): Promise<void> {
  if (endedForReboot(conclusion) && invoker === 'machineadm') await requestReboot(host, platform);
}
