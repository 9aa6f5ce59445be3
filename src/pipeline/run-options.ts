import type { Model } from '@machineadm/document/model/index.ts';
import type { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { NodeHandover } from '@machineadm/status/status.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { Host } from '../host/seam/host.ts';
import type { Execution, Step } from '../step/index.ts';
import type { RunJournal } from './run-journal.ts';
import type { RunTrace } from './run-trace.ts';

/** The progress events of a run; the reporting room listens. */
export interface StepObserver {
  stepStarted(step: string): void;
  stepDone(step: string, result: StepResult): void;
  waitingFor(step: string, what: string | undefined): void;
  output(step: string, source: string, line: string): void;
  warn(message: string): void;
  /** What only the management side may set on the Node; without commands if it is all there. */
  handover?(handover: NodeHandover): void;
}

export interface StepResult {
  readonly state: 'Succeeded' | 'Unchanged' | 'Failed' | 'Skipped';
  /** Ids of the changes made, including follow-ups. */
  readonly changes: readonly string[];
  readonly durationMs: number;
}

export interface RunOptions {
  readonly model: Model;
  readonly facts: Facts;
  readonly host: Host;
  readonly journal: RunJournal;
  readonly observer: StepObserver;
  /** `base`: only what belongs in an image. */
  readonly scope: 'base' | 'all';
  readonly signal: AbortSignal;
  /** Whether the run reboots the machine where a step needs it, and resumes afterwards. Default false. */
  readonly mayReboot?: boolean;
  /** Records what each step changes, for `requireLasting`. */
  readonly trace?: RunTrace;
  /** Called when hooks of the document ran, before that is recorded. It may renew `facts`. */
  readonly hooksRan?: (step: Step, execution: Execution) => Promise<void>;
  /**
   * Called after a step that may have installed programs. It may renew `facts`, and throws a `StepFailure` where a later
   * step still has an unmet requirement.
   */
  readonly recheck?: (step: Step, hasChanged: boolean) => Promise<void>;
  /**
   * Called while a change of the bootstrapper is made, until its signal is aborted: looks for what the bootstrapper waits for
   * in vain. `end` ends the bootstrapper with this error.
   */
  readonly watchBootstrap?: (step: Step, end: (error: MachineadmError) => void, signal: AbortSignal) => Promise<void>;
  /** Called with the document as a step resolved it, for later steps. */
  readonly resolved?: (model: Model) => void;
  /** Whether a step is postponed until after later hooks; it is then skipped here, and performed by the caller. */
  readonly postpones?: (step: Step) => boolean;
}
