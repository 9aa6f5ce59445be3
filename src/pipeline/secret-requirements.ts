import type { HostModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { StepId } from '@machineadm/document/ownership/step-ids.ts';
import type { SecretSource, SecretValue } from '@machineadm/document/secrets/secret.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { secretUnavailable } from '../host/secrets/resolve.ts';
import type { Step, UnmetRequirement } from '../step/index.ts';
import { planStep } from './plan-step.ts';
import type { PreflightScope } from './preflight-scope.ts';

/**
 * The secrets of a step that cannot be read, if the step is going to need them. Those behind a server are not asked for:
 * that would be an effect. A program only has to exist.
 */
export async function unreadableSecrets(
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
