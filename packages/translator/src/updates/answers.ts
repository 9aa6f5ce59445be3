import type { Change } from './objects.ts';

/** Answers of the hooks (cluster-api api/runtime/hooks/v1alpha1, inplaceupdate_types.go and discovery_types.go). */

export const HOOKS_VERSION = 'hooks.runtime.cluster.x-k8s.io/v1alpha1';

/** The hooks that are answered, each with the name of its handler. */
export const HOOKS = ['CanUpdateMachine', 'CanUpdateMachineSet', 'UpdateMachine'] as const;
export type Hook = (typeof HOOKS)[number];

/** Of Cluster API, for one request; the most is 30. */
const TIMEOUT_SECONDS = 20;
/** Nobody reads more in a condition. */
const LONGEST_MESSAGE = 1024;

/** What this extension answers. */
export function discovery(): object {
  const handlers = HOOKS.map((hook) => ({
    name: nameOf(hook),
    requestHook: { apiVersion: HOOKS_VERSION, hook },
    timeoutSeconds: TIMEOUT_SECONDS,
    // Whoever installs it wants machines to be updated in place, or to be told why they are not.
    failurePolicy: 'Fail',
  }));
  return answer('Discovery', { status: 'Success', handlers });
}

/** The name of a hook's handler: a DNS label. */
function nameOf(hook: Hook): string {
  return hook.replace(/[A-Z]/g, (letter, at: number) => `${at === 0 ? '' : '-'}${letter.toLowerCase()}`);
}

/** The patches that make the current objects the desired ones; none where the change cannot be made in place. */
export function canUpdate({ of, current, desired }: Change, why: string | undefined): object {
  const isSet = of === 'MachineSet';
  if (why !== undefined) return answer(`CanUpdate${of}`, { status: 'Success', message: cut(why) });
  const below = isSet ? '/spec/template/spec' : '/spec';
  const machine =
    current.version === desired.version ? [] : [{ op: 'add', path: `${below}/version`, value: desired.version }];
  const config = [{ op: 'add', path: below, value: desired.config?.spec ?? {} }];
  const names = isSet
    ? (['machineSetPatch', 'bootstrapConfigTemplatePatch'] as const)
    : (['machinePatch', 'bootstrapConfigPatch'] as const);
  return answer(`CanUpdate${of}`, { status: 'Success', [names[0]]: patch(machine), [names[1]]: patch(config) });
}

function patch(operations: readonly object[]): object {
  return { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(operations)).toString('base64') };
}

/** Cluster API asks again after so many seconds; 0: the machine is as it should be. */
export function updating(message: string, retryAfterSeconds: number): object {
  return answer('UpdateMachine', { status: 'Success', message: cut(message), retryAfterSeconds });
}

/** A request that cannot be answered: a defect of the caller. Cluster API writes the message to its log only. */
export function failed(hook: Hook, message: string): object {
  const retry = hook === 'UpdateMachine' ? { retryAfterSeconds: 0 } : {};
  return answer(hook, { status: 'Failure', message: cut(message), ...retry });
}

function answer(hook: string, members: object): object {
  return { apiVersion: HOOKS_VERSION, kind: `${hook}Response`, ...members };
}

function cut(text: string): string {
  return text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE - 1)}…` : text;
}
