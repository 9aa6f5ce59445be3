import { formatPlace } from '@machineadm/document/diagnostics/index.ts';
import type { HostModel, Model } from '@machineadm/document/model/index.ts';
import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { ExitName } from '@machineadm/document/outcomes/exit-codes.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { type StepId, stepTitle } from '@machineadm/document/ownership/step-ids.ts';
import { hasEffects, type SecretSource, type SecretValue } from '@machineadm/document/secrets/secret.ts';
import type { Finding } from '../diagnosis/checks/finding.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { secretUnavailable } from '../host/secrets/resolve.ts';
import { runChecks } from '../host/time/checks.ts';
import type { NodeProgram, Step, StepRecord, UnmetRequirement } from '../step/index.ts';
import type { Conflict } from './asked.ts';
import type { ChangeSource, FindSource } from './change-source.ts';
import { findCollisions } from './ownership.ts';
import { planStep } from './plan-step.ts';
import { asRefusal } from './refusal.ts';
import { StepFailure } from './runner.ts';

/** Refuses to begin on a machine or as a user that cannot do it. */
export function refuseUnlessRoot(facts: Pick<Facts, 'isRoot'> & Partial<Pick<Facts, 'platform'>>): void {
  if (facts.isRoot) return;
  if (facts.platform === 'windows') {
    throw new MachineadmError({
      reason: 'NotPrivilegedUser',
      summary: 'machineadm must run as the system or as an elevated administrator',
      remedy: 'Run it from a console that was opened with "Run as administrator", or from a task of the system.',
    });
  }
  throw new MachineadmError({
    reason: 'NotPrivilegedUser',
    summary: 'machineadm must run as root',
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
    remedy: `Use a document for ${found} (host: {platform: ${found}}).`,
    evidence: [{ source: 'host.platform', text: wanted }],
    exit: 'Refused',
  });
}

/** The document, and what its steps are checked against. */
export interface PreflightScope {
  readonly host: QueryHost;
  readonly model: Model;
  readonly facts: Facts;
  readonly scope: 'base' | 'all';
  /** The journal's record of a step. */
  readonly record: (step: string) => StepRecord;
  /** Finds the place in the document; absent: findings name none. */
  readonly source?: FindSource;
  /** Finds where another document of this machine asks for something else; absent: that is not checked. */
  readonly conflicts?: () => Promise<readonly Conflict[]>;
}

/** A requirement of a step that is not met, or that would make it fail. */
export interface Unmet {
  readonly step: Step;
  readonly missing: UnmetRequirement;
  /** Where the document asks for it. */
  readonly source?: ChangeSource;
  /** Set where the step threw it. */
  readonly error?: MachineadmError;
}

/** Requirements of a document's steps that are not met. */
export interface Requirements {
  /** Nothing in this run provides them. */
  readonly unmet: readonly Unmet[];
  /** Hooks that have not run yet, or files of the document, may provide them; they are checked again afterwards. */
  readonly awaited: readonly (Unmet & { readonly after: Step })[];
  /** What is reported but refuses nothing: warnings, and checks that could not be made. */
  readonly told: readonly Unmet[];
}

/**
 * The hooks before the bootstrap that have not run on this machine yet; an image bake runs none. On many machines they
 * install what later steps need: runc, containerd, kubeadm and the kubelet.
 */
export function pendingHooks(steps: readonly Step[], { model, facts, scope, record }: PreflightScope): readonly Step[] {
  if (scope === 'base') return [];
  const bootstrap = steps.findLastIndex((step) => step.bootstrapper !== undefined);
  const before = steps.slice(0, Math.max(0, bootstrap));
  return before.filter((step) => {
    const desired = step.hooks === undefined ? undefined : step.desired(model, facts);
    return desired !== undefined && step.hooks?.hasRun(desired, record(step.id)) === false;
  });
}

/** The reason with which a step reports that one of these programs is missing. */
const MISSING: Readonly<Record<NodeProgram, Reason>> = {
  containerd: 'ContainerRuntimeMissing',
  kubeadm: 'KubeadmNotInstalled',
  kubelet: 'KubeletNotInstalled',
};

/** The programs that a step of this document may install. */
export function programsOf(
  step: Step,
  { model, facts }: Pick<PreflightScope, 'model' | 'facts'>,
): readonly NodeProgram[] {
  const desired = step.programs?.brings === undefined ? undefined : step.desired(model, facts);
  return desired === undefined ? [] : (step.programs?.brings?.(desired) ?? []);
}

/** Those of them that are missing. */
export function programsToCome(step: Step, asked: Pick<PreflightScope, 'model' | 'facts'>): readonly NodeProgram[] {
  return programsOf(step, asked).filter((program) => asked.facts[program] === undefined);
}

/** A run has a host that resolves every secret. What a run checks beforehand causes no more effects than `plan` does. */
function withoutEffects(host: QueryHost): QueryHost {
  return { ...host, secret: async (value) => (hasEffects(value.source) ? undefined : await host.secret(value)) };
}

/** The requirements of all steps of this document that are not met. All steps are asked at once; nothing is changed. */
export async function findRequirements(steps: readonly Step[], given: PreflightScope): Promise<Requirements> {
  const asked = { ...given, host: withoutEffects(given.host) };
  const { host, model, facts, scope, source } = asked;
  const checks = steps.map((step) => {
    const ask = async (): Promise<readonly Unmet[]> => {
      const desired = step.desired(model, facts);
      if (desired === undefined) return [];
      const found = (await step.preflight?.(host, desired, asked.record(step.id))) ?? [];
      const secrets = await unreadableSecrets(step, desired, asked);
      return [...found, ...secrets].map((missing) => ({ step, missing }));
    };
    return [step, ask] as const;
  });
  const owner = steps.findLast((step) => step.owns !== undefined) ?? steps[0];
  const collisions = owner === undefined ? [] : [[owner, () => findCollisions(steps, asked)] as const];
  const conflicts = owner === undefined ? [] : [[owner, () => conflictsIn(steps, owner, asked)] as const];
  const found = await runChecks<Step, Unmet>([...checks, ...collisions, ...conflicts], thrown);
  const pending = pendingHooks(steps, asked);
  const bringers = steps.map((step) => [step, programsToCome(step, asked)] as const);
  const all: { unmet: Unmet[]; awaited: Requirements['awaited'][number][]; told: Unmet[] } = {
    unmet: [],
    awaited: [],
    told: [],
  };
  const known = new Set<string>();
  for (const { step, missing, ...rest } of found) {
    if (scope === 'base' && missing.scope === 'node') continue;
    // Several steps may use the same secret.
    const key = JSON.stringify([missing.reason, missing.what, missing.field]);
    if (missing.reason === 'SecretUnavailable' && known.has(key)) continue;
    known.add(key);
    const at = source === undefined ? undefined : placeOf(missing, step, source);
    const one = { step, ...rest, ...(at === undefined ? {} : { source: at }) };
    if (missing.severity !== undefined && missing.severity !== 'failed') {
      all.told.push({ ...one, missing });
      continue;
    }
    const isEarlier = (other: Step) => steps.indexOf(other) < steps.indexOf(step);
    const bringer = bringers.find(
      ([other, programs]) => isEarlier(other) && programs.some((program) => MISSING[program] === missing.reason),
    )?.[0];
    const provider = steps.find(({ id }) => id === missing.broughtBy);
    const brought = provider !== undefined && isEarlier(provider) ? provider : undefined;
    const before = pending.find(isEarlier) ?? bringer ?? brought ?? (waits(step) ? pending[0] : undefined);
    if (before === undefined || missing.certain === true) all.unmet.push({ ...one, missing });
    else all.awaited.push({ ...one, missing, after: before });
  }
  return all;
}

/**
 * The secrets of a step that cannot be read, if the step is going to need them. Those behind a server are not asked for:
 * that would be an effect. A program only has to exist.
 */
async function unreadableSecrets(
  step: Step,
  desired: unknown,
  asked: PreflightScope,
): Promise<readonly UnmetRequirement[]> {
  const missing: UnmetRequirement[] = [];
  for (const value of new Set(step.secrets?.(desired) ?? [])) {
    const trouble = await troubleOf(asked.host, value);
    if (trouble === undefined) continue;
    const broughtBy = bringerOf(value.source, asked.model.host);
    const { reason, message: what, remedy } = trouble;
    const evidence = trouble.evidence.filter(({ text }) => !what.includes(text));
    const field = value.name;
    missing.push({ reason, what, remedy, evidence, field, scope: 'node', ...(broughtBy ? { broughtBy } : {}) });
  }
  // A secret is often removed after its first use, so it only matters where the step still has something to do.
  return missing.length > 0 && (await hasChanges(step, desired, asked)) ? missing : [];
}

async function troubleOf(host: QueryHost, value: SecretValue): Promise<MachineadmError | undefined> {
  const { source } = value;
  if (source.kind === 'exec') {
    const [program = ''] = source.command;
    const found = program.includes('/') ? await host.stat(program) : await host.which(program);
    return found === undefined ? secretUnavailable(value, `the program ${program}`, 'it does not exist') : undefined;
  }
  try {
    await host.secret(value);
    return undefined;
  } catch (error) {
    if (error instanceof MachineadmError && error.reason === 'SecretUnavailable') return error;
    throw error;
  }
}

async function hasChanges(step: Step, desired: unknown, { host, scope, record }: PreflightScope): Promise<boolean> {
  try {
    return (await planStep(step, desired, host, record(step.id), scope)).length > 0;
  } catch (error) {
    if (error instanceof MachineadmError) return true;
    throw error;
  }
}

/** The step of the document that writes the file of a secret, or mounts what it is on. */
function bringerOf(source: SecretSource, host: HostModel): StepId | undefined {
  const path = source.kind === 'file' ? source.path : source.kind === 'exec' ? (source.command[0] ?? '') : '';
  if (host.storage.mounts.some((mount) => path.startsWith(`${mount.path}/`))) return 'mounts';
  return host.files.some((file) => file.path === path) ? 'files' : undefined;
}

/** The place of the field that is wrong: beside the path of an entry, if the requirement says so and the document has it. */
function placeOf({ field, change, key }: UnmetRequirement, step: Step, source: FindSource): ChangeSource | undefined {
  const entry = source(step.id, field ?? change ?? step.id);
  if (key === undefined || entry?.field.endsWith('.path') !== true) return entry;
  const beside = entry.field.replace(/path$/, key);
  const exact = source(step.id, beside);
  return exact?.field === beside ? exact : entry;
}

/** Conflicts with other documents of this machine. */
async function conflictsIn(steps: readonly Step[], owner: Step, asked: PreflightScope): Promise<readonly Unmet[]> {
  const found = (await asked.conflicts?.()) ?? [];
  return found.map(({ step: id, missing }) => ({ step: steps.find((step) => step.id === id) ?? owner, missing }));
}

/** An error that a step throws when it is asked counts as an unmet requirement. Nothing was changed yet. */
function thrown(step: Step, error: unknown): Unmet {
  const certain = true;
  if (error instanceof MachineadmError) {
    const { reason, message: what, remedy, evidence } = error;
    return { step, missing: { reason, what, remedy, evidence, certain }, error };
  }
  const what = `the requirements of the step ${step.id} could not be checked: ${errorMessage(error)}`;
  const remedy = 'This is a defect in machineadm; please report it with the support bundle.';
  return { step, missing: { reason: 'InternalError', what, remedy, certain } };
}

/** The findings in the form that all checking commands print. What hooks may still provide is a warning. */
export function findingsOf({ unmet, awaited, told }: Requirements): readonly Finding[] {
  const finding = ({ source, missing }: Unmet, severity: Finding['severity'], later = ''): Finding => ({
    id: severity === 'skipped' ? 'document/not-checked' : `document/${missing.reason}`,
    title: 'document',
    severity,
    text: `${missing.what}${later}`,
    ...(severity === 'skipped' ? {} : { reason: missing.reason, remedy: missing.remedy }),
    ...source,
  });
  return [
    ...unmet.map((one) => finding(one, 'failed')),
    ...awaited.map((one) => finding(one, 'warning', `; checked again after ${one.after.id}`)),
    ...told.map((one) => finding(one, one.missing.severity ?? 'warning')),
  ];
}

/** The finding for a document that a run refuses (`OpenedDocument.refusals`). */
export function refusalFinding({ reason, message: text, remedy }: MachineadmError): Finding {
  return { id: `document/${reason}`, title: 'document', severity: 'failed', text, reason, remedy };
}

/** Whether a step can be postponed until hooks that come after it have run. */
function waits(step: Step): boolean {
  return step.programs?.needs !== undefined;
}

/** Whether a step has to wait for hooks that come after it in `steps`. */
export function waitsForHooks(step: Step, steps: readonly Step[], asked: PreflightScope): boolean {
  if (step.programs?.needs?.some((program) => asked.facts[program] === undefined) !== true) return false;
  return pendingHooks(steps.slice(steps.indexOf(step)), asked).length > 0;
}

/**
 * Checks the requirements of all steps, and refuses with everything that is missing at once, before anything is
 * changed. What hooks may still provide does not count as missing.
 */
export async function preflight(steps: readonly Step[], asked: PreflightScope): Promise<Requirements> {
  const found = await requirements(steps, asked);
  if (found.unmet.length > 0) throw refusalFor(found.unmet);
  return found;
}

/** The unmet requirements of all steps of a document, for this platform. */
export async function requirements(steps: readonly Step[], asked: PreflightScope): Promise<Requirements> {
  refuseOtherPlatform(asked.model, asked.facts);
  return await findRequirements(steps, asked);
}

/** The error with which a run refuses to begin. */
export function refusalFor(unmet: readonly Unmet[]): MachineadmError {
  const [first, second] = unmet;
  const alone = second === undefined ? asRefusal(first?.error) : undefined;
  return alone instanceof MachineadmError ? alone : missingError(unmet, 'Refused');
}

/**
 * Checks requirements again after a step that may have installed programs. The machine was changed by then, so it is
 * not a refusal: the first step with an unmet requirement fails.
 *
 * @throws StepFailure
 */
export async function requireAfter(installer: Step, steps: readonly Step[], asked: PreflightScope): Promise<void> {
  const concerned = steps.filter((step, index) => index > steps.indexOf(installer) || waits(step));
  const { unmet } = await findRequirements(concerned, asked);
  const [first] = unmet;
  if (first !== undefined) throw new StepFailure(first.step.id, missingError(unmet, 'HostStepFailed', installer));
}

/** The place of a requirement. The only one is the summary itself: its text is not repeated. */
function placeEvidence({ reason, what }: UnmetRequirement, source: ChangeSource | undefined, isOne: boolean) {
  if (source === undefined) return isOne ? [] : [{ source: reason, text: what }];
  const text = isOne ? source.field : `${source.field}: ${what} [${reason}]`;
  return [{ source: formatPlace(source.position), text }];
}

/** @param installer the step that could have provided it */
function missingError(unmet: readonly Unmet[], exit: ExitName, installer?: Step): MachineadmError {
  const [first, second] = unmet.map(({ missing }) => missing);
  const still = installer === undefined ? '' : ` (after the ${stepTitle(installer.id)})`;
  const isOne = first !== undefined && second === undefined;
  const [reason = 'PreflightFailed', ...others] = new Set(unmet.map(({ missing }) => missing.reason));
  return new MachineadmError({
    reason: others.length === 0 ? reason : 'PreflightFailed',
    // The evidence has their texts, each with its place.
    summary: isOne
      ? `${first.what}${still}`
      : `${unmet.length} requirements are not met${still}: ${[reason, ...others].join(', ')}`,
    remedy: [
      ...new Set(unmet.map(({ missing }) => missing.remedy)),
      ...(installer?.hooks !== undefined ? ['A hook that ran runs again only after its commands are changed.'] : []),
    ].join(' '),
    evidence: unmet.flatMap(({ missing, source }) => [
      ...placeEvidence(missing, source, isOne),
      ...(missing.evidence ?? []),
    ]),
    exit,
  });
}
