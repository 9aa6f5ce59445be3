import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { stepTitle } from '@machineadm/document/ownership/step-ids.ts';
import type { Change, Step } from '../step/index.ts';

/**
 * The end of a run for a reboot that a step needs: `Rebooting` where the run requests it and resumes afterwards,
 * `RebootRequired` where the caller has to.
 */
export function rebootNeeded(step: Pick<Step, 'id'>, mayReboot: boolean): MachineadmError {
  return new MachineadmError({
    reason: mayReboot ? 'Rebooting' : 'RebootRequired',
    summary: `The changes of the step "${stepTitle(step.id)}" take effect only after a reboot.`,
    remedy: mayReboot
      ? 'No action is needed: the machine reboots, and the run resumes automatically.'
      : 'Reboot the machine and run machineadm provision again: it resumes where it stopped.',
    retryable: true,
  });
}

/** A step that still needs a reboot after having had it: another one would not help. */
export function rebootWasFutile(step: Pick<Step, 'id'>, changes: readonly Change[]): MachineadmError {
  return new MachineadmError({
    reason: 'RebootNotEffective',
    summary: `The machine was rebooted for the step "${stepTitle(step.id)}", but its change is still not in effect.`,
    remedy:
      'Find out what undoes it at every boot, or why it never took effect, and run machineadm provision again. machineadm does not reboot the machine a second time.',
    evidence: changes.map((change) => ({ source: change.id, text: `pending: ${change.summary}` })),
  });
}

/** Whether an error of a step means a reboot, and not a failure of the step. */
export function endsForReboot(error: unknown): boolean {
  return error instanceof MachineadmError && error.exit === 'RebootRequired';
}
