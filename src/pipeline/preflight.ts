import { MachineadmError } from '@machineadm/document/errors.ts';
import type { ExitName } from '@machineadm/document/exit-codes.ts';
import type { Model } from '@machineadm/document/model.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { QueryHost } from '../host/seam/host.ts';
import type { Step, StepRecord, UnmetRequirement } from '../steps/step.ts';
import { findCollisions } from './ownership.ts';
import { asRefusal } from './refusal.ts';
import { StepFailure } from './runner.ts';

/** Refuses to begin on a machine or as a user that cannot do it. */
export function refuseUnlessRoot(facts: Pick<Facts, 'isRoot'> & Partial<Pick<Facts, 'platform'>>): void {
  if (facts.isRoot) return;
  if (facts.platform === 'windows') {
    throw new MachineadmError({
      reason: 'NotPrivilegedUser',
      summary: 'machineadm must run as the system or as an administrator with their rights in force',
      remedy: 'Run it from a console that was opened with "Run as administrator", or from a task of the system.',
    });
  }
  throw new MachineadmError({
    reason: 'NotPrivilegedUser',
    summary: 'machineadm must run as root: it reads and changes what only root may',
    remedy: 'Run it with sudo, or from a system unit. `validate`, `render` and `example` need no root.',
  });
}

const PLATFORM_NAMES = { linux: 'Linux', windows: 'Windows' } as const;

/** Refuses a document that is for another operating system than this machine's. */
function refuseOtherPlatform({ host }: Model, { platform }: Facts): void {
  if (host.platform === platform) return;
  const [wanted, found] = [PLATFORM_NAMES[host.platform], PLATFORM_NAMES[platform]];
  throw new MachineadmError({
    reason: 'UnsupportedOnPlatform',
    summary: `host.platform: the document is for ${wanted}, and this machine runs ${found}`,
    remedy: `Give this machine a document for ${found} (host: {platform: ${found}}).`,
    evidence: [{ source: 'host.platform', text: wanted }],
    exit: 'Refused',
  });
}

/** Something that a step needs and does not find. */
export interface Unmet {
  readonly step: Step;
  readonly missing: UnmetRequirement;
}

/** What the steps of a document need and do not find. */
export interface Requirements {
  /** Nothing is going to bring it. */
  readonly unmet: readonly Unmet[];
  /** Hooks that are still to run may bring it; it is looked for again after them. */
  readonly awaited: readonly (Unmet & { readonly hooks: Step })[];
}

/** What is looked at, and for which document. */
export interface PreflightScope {
  readonly host: QueryHost;
  readonly model: Model;
  readonly facts: Facts;
  readonly scope: 'base' | 'all';
  /** What the journal knows of a step. */
  readonly record: (step: string) => Pick<StepRecord, 'done'>;
}

/**
 * The hooks before the bootstrap that have not run on this machine yet. An image bake runs none. What the steps after them need
 * may be installed by them: runc, containerd, kubeadm and the kubelet are, on many machines.
 */
export function pendingHooks(steps: readonly Step[], { model, facts, scope, record }: PreflightScope): readonly Step[] {
  if (scope === 'base') return [];
  const bootstrap = steps.findLastIndex((step) => step.bootstraps === true);
  const before = steps.slice(0, Math.max(0, bootstrap));
  return before.filter(
    (step) => step.runsHooks === true && step.desired(model, facts) !== undefined && record(step.id).done.size === 0,
  );
}

/** What the steps of this document will need and do not find. Asks only. */
export async function findRequirements(steps: readonly Step[], asked: PreflightScope): Promise<Requirements> {
  const { host, model, facts, scope } = asked;
  const pending = pendingHooks(steps, asked);
  const unmet: Unmet[] = [];
  const awaited: Requirements['awaited'][number][] = [];
  for (const [index, step] of steps.entries()) {
    const desired = step.desired(model, facts);
    if (desired === undefined || step.preflight === undefined) continue;
    const hooks = pending.find((one) => steps.indexOf(one) < index) ?? (waits(step) ? pending[0] : undefined);
    for (const missing of await step.preflight(host, desired)) {
      if (scope === 'base' && missing.scope === 'node') continue;
      if (hooks === undefined) unmet.push({ step, missing });
      else awaited.push({ step, missing, hooks });
    }
  }
  for (const collision of await findCollisions(steps, asked)) unmet.push(collision);
  return { unmet, awaited };
}

/** Whether a step can be postponed until hooks ran that come after it. */
function waits(step: Step): boolean {
  return step.needs !== undefined;
}

/** Whether a step cannot do anything before hooks ran that come after it in `steps`. */
export function waitsForHooks(step: Step, steps: readonly Step[], asked: PreflightScope): boolean {
  if (step.needs?.some((program) => asked.facts[program] === undefined) !== true) return false;
  return pendingHooks(steps.slice(steps.indexOf(step)), asked).length > 0;
}

/**
 * Asks all steps what they will need and reports everything that is missing at once, before anything is changed. What
 * hooks may still bring is not missing yet.
 *
 * @returns what is looked for again after hooks
 */
export async function preflight(steps: readonly Step[], asked: PreflightScope): Promise<Requirements['awaited']> {
  const { unmet, awaited } = await requirements(steps, asked);
  if (unmet.length > 0) throw refusalFor(unmet);
  return awaited;
}

/** What all steps of a document for this platform need and do not find. */
export async function requirements(steps: readonly Step[], asked: PreflightScope): Promise<Requirements> {
  refuseOtherPlatform(asked.model, asked.facts);
  return await findRequirements(steps, asked).catch((error) => {
    throw asRefusal(error);
  });
}

/** The error that a run refuses to begin with. */
export function refusalFor(unmet: readonly Unmet[]): MachineadmError {
  return missingError(unmet, 'Refused', '');
}

/**
 * Looks again for what steps need after hooks ran. By then the machine was changed, so it is no refusal: the first step
 * that lacks something has failed.
 *
 * @throws StepFailure
 */
export async function requireAfterHooks(hooks: Step, steps: readonly Step[], asked: PreflightScope): Promise<void> {
  const concerned = steps.filter((step, index) => index > steps.indexOf(hooks) || waits(step));
  const { unmet } = await findRequirements(concerned, asked);
  const [first] = unmet;
  if (first !== undefined) throw new StepFailure(first.step.id, missingError(unmet, 'HostStepFailed', hooks.title));
}

/** @param after the hooks that could have brought it */
function missingError(unmet: readonly Unmet[], exit: ExitName, after: string): MachineadmError {
  const [first, second] = unmet.map(({ missing }) => missing);
  const stillMissing = after === '' ? '' : ` (after the ${after})`;
  const what = unmet.map(({ missing }) => missing.what);
  return new MachineadmError({
    reason: first === undefined || second !== undefined ? 'PreflightFailed' : first.reason,
    summary:
      first === undefined || second !== undefined
        ? `${unmet.length} things are missing${stillMissing}: ${what.join('; ')}`
        : `${first.what}${stillMissing}`,
    remedy: [
      ...new Set(unmet.map(({ missing }) => missing.remedy)),
      ...(after === ''
        ? []
        : ['The hooks do not run again: correct them and run machineadm reset, or install it by hand.']),
    ].join(' '),
    evidence: unmet.map(({ missing: { reason, what } }) => ({ source: reason, text: what })),
    exit,
  });
}
