import type { Evidence } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import type { StepId } from '@machineadm/document/ownership/step-ids.ts';

/** Something that is missing for `apply`, or would make it fail. */
export interface UnmetRequirement {
  readonly reason: Reason;
  readonly what: string;
  readonly remedy: string;
  /** `node` where only changes of that scope need it: an image bake does not. Default `base`. */
  readonly scope?: 'base' | 'node';
  /** `failed` (default) refuses the run; `warning` is only reported; `skipped`: see `notChecked`. */
  readonly severity?: 'failed' | 'warning' | 'skipped';
  /** The id of the change that would fail: the report names its place in the document. */
  readonly change?: string;
  /** The field of the document, where no change says it: `host.hooks.early.commands[2]`. */
  readonly field?: string;
  /** The key beside the path of the entry that `change` leads to, if that is what is wrong. */
  readonly key?: 'owner' | 'contentFrom';
  /** What proves it, such as what a tool printed. */
  readonly evidence?: readonly Evidence[];
  /** True if no hook can help: it refuses the run at once. Default: it is checked again after the hooks. */
  readonly certain?: true;
  /** The step of this run that will bring it, if that is earlier: it is then checked by the step itself. */
  readonly broughtBy?: StepId;
}

/** Reports that something could not be checked, and why: `no visudo`. Shown by plan and doctor; never refuses a run. */
export function notChecked(
  what: string,
  why: string,
  at: Pick<UnmetRequirement, 'change' | 'field'> = {},
): UnmetRequirement {
  return { reason: 'PreflightFailed', what: `${what}: not checked: ${why}`, remedy: '', severity: 'skipped', ...at };
}
