import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import type { StepId } from '@machineadm/document/ownership/step-ids.ts';
import type { FollowUp } from './follow-up.ts';

/** One change that a step needs. `makeChange` (pipeline/runner.ts) makes it, with what the journal must know before it. */
export interface Change<Payload = unknown> extends ChangeText, ChangeEffects {
  /** Stable and unique in a run: `sysctl/net/ipv4/ip_forward`. No secret, no timestamp, nothing random. */
  readonly id: string;
  /** `base` belongs into an image; `node` belongs to this instance, or holds a secret or something that expires. */
  readonly scope: 'base' | 'node';
  /** False for what must not be repeated blindly: the journal records its start durably before it. Default true. */
  readonly repeatable?: boolean;
  /**
   * Consecutive changes that say this are a declared group: slow, and independent of each other. At most so many of them
   * are made at the same time. Default: alone.
   */
  readonly concurrently?: number;
  readonly payload: Payload;
}

/** How `plan` shows a change (`plannedChange` in pipeline/plan.ts). */
export interface ChangeText {
  /** One line, no secret. */
  readonly summary: string;
  /**
   * The kind of the change. Default: from its diff; `remove` if it `removes`; `run` if it is not repeatable; else `change`.
   */
  readonly action?: ChangeAction;
  /** Commands of the document that it runs, for an operator who asks for details. */
  readonly commands?: readonly string[];
  /** How the text of a file changes, where that helps and holds no secret. */
  readonly diff?: string | undefined;
  /** The earlier step after which the content is known, or `secrets` if it depends on their values. */
  readonly knownAfter?: StepId | 'secrets';
}

/** `run`: something is executed, checked or waited for; what that changes is its own business. */
export type ChangeAction = 'add' | 'change' | 'remove' | 'run';

/** What a change means for other steps, for services, and for the rest of the run. */
export interface ChangeEffects {
  /** Follow-ups of this change; the journal records them as pending before the change is made. */
  readonly owes?: readonly FollowUp[];
  /** Steps whose earlier work this change destroys: their records are forgotten. */
  readonly undoes?: readonly StepId[];
  /** Paths that this change deletes with their contents: in a plan, the later steps do not see them. */
  readonly removes?: readonly string[];
  /** Paths that it writes: the prior states of all changes of a step are recorded with one flush. */
  readonly writes?: readonly string[];
  /**
   * True if the change takes effect only after a reboot. The run ends after this step, and resumes after the reboot with the
   * same step, which then must not need another reboot.
   */
  readonly needsReboot?: true;
  /** The reason that is reported if the change was made but has no effect when the machine is inspected again. */
  readonly ineffective?: Reason;
}

/** The follow-ups from the document, as a part of a change. */
export function owing({ owes }: { readonly owes?: readonly FollowUp[] }): Pick<Change, 'owes'> {
  return owes === undefined ? {} : { owes };
}
