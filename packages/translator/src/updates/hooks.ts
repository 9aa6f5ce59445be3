import * as z from 'zod';
import { errorText, type Log } from '../telemetry/log.ts';
import { updateProblem } from './can-update.ts';
import { type Change, machineChange, machineSetChange, machineToUpdate } from './objects.ts';
import { type Updates, updateMachine } from './update.ts';

/** Requests and answers: cluster-api api/runtime/hooks/v1alpha1, inplaceupdate_types.go and discovery_types.go. */
const HOOKS_VERSION = 'hooks.runtime.cluster.x-k8s.io/v1alpha1';
const PREFIX = `/${HOOKS_VERSION}/`;

/** The hooks that are answered, each with the name of its handler. */
const HOOKS = ['CanUpdateMachine', 'CanUpdateMachineSet', 'UpdateMachine'] as const;
type Hook = (typeof HOOKS)[number];

const CHANGES = { CanUpdateMachine: machineChange, CanUpdateMachineSet: machineSetChange } as const;

/**
 * Answers a request of Cluster API's runtime hooks by the path of its URL. undefined: there is no such hook, or the body is not
 * a request of it. The caller is not known, so nothing here depends on who it is: the decision is made of the request alone,
 * and an update of what the management cluster says.
 */
export async function answerHook(
  path: string,
  body: string,
  updates: Updates,
  deadline: AbortSignal,
  log: Log,
): Promise<object | undefined> {
  const name = hookAt(path);
  const request = parsed(body);
  if (name === undefined || request === undefined) return undefined;
  if (name === 'Discovery') return discovery();
  try {
    if (name === 'UpdateMachine') {
      const machine = machineToUpdate(request);
      const update = await updateMachine(machine, updates, deadline);
      log('info', 'update in place', { ...machine, state: update.isDone ? 'done' : update.message });
      return update.isDone ? updating('', 0) : updating(update.message, update.retryAfterSeconds);
    }
    const change: Change = CHANGES[name](request);
    const problem = await updateProblem(change, updates, deadline);
    const { namespace, machine } = change.desired;
    const fields = { kind: change.of, namespace, name: machine.metadata.name };
    log('info', 'asked for an update in place', { ...fields, answer: problem ?? 'possible' });
    return canUpdate(change, problem);
  } catch (error) {
    const what = error instanceof z.ZodError ? 'the request is not as this hook has it' : 'the request failed';
    log('warn', what, { hook: name, error: errorText(error) });
    // Cluster API keeps on asking. What it shows of a failure is that there is one.
    if (name === 'UpdateMachine' && !(error instanceof z.ZodError))
      return updating(`${what}; see the translator's log`, 20);
    return failed(name, what);
  }
}

/** Whether a path is that of a hook, whoever answers it. */
export function isHook(path: string | undefined): path is string {
  return path?.startsWith(PREFIX) === true;
}

function hookAt(path: string): Hook | 'Discovery' | undefined {
  // The name of the handler follows.
  const [hook] = path.slice(PREFIX.length).split('/');
  return (['Discovery', ...HOOKS] as const).find((one) => one.toLowerCase() === hook);
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Of Cluster API, for one request; the most is 30. */
const TIMEOUT_SECONDS = 20;
/** Nobody reads more in a condition. */
const LONGEST_MESSAGE = 1024;

/** What this extension answers. */
function discovery(): object {
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
function canUpdate({ of, current, desired }: Change, why: string | undefined): object {
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
function updating(message: string, retryAfterSeconds: number): object {
  return answer('UpdateMachine', { status: 'Success', message: cut(message), retryAfterSeconds });
}

/** A request that cannot be answered: a defect of the caller. Cluster API writes the message to its log only. */
function failed(hook: Hook, message: string): object {
  const retry = hook === 'UpdateMachine' ? { retryAfterSeconds: 0 } : {};
  return answer(hook, { status: 'Failure', message: cut(message), ...retry });
}

function answer(hook: string, members: object): object {
  return { apiVersion: HOOKS_VERSION, kind: `${hook}Response`, ...members };
}

function cut(text: string): string {
  return text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE - 1)}…` : text;
}
