import * as z from 'zod';
import { errorText, type Log } from '../telemetry/log.ts';
import { canUpdate, discovery, failed, HOOKS, HOOKS_VERSION, type Hook, updating } from './answers.ts';
import { updateProblem } from './can-update.ts';
import { type Change, machineChange, machineSetChange, machineToUpdate } from './objects.ts';
import { type Updates, updateMachine } from './update.ts';

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

const PREFIX = `/${HOOKS_VERSION}/`;

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
