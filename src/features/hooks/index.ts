import type { HookGroup, Model } from '@machineadm/document/model/index.ts';
import { type StepId, stepTitle } from '@machineadm/document/ownership/step-ids.ts';
import { secretsIn } from '@machineadm/document/secrets/secret-values.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { whyUnreadable } from '../../host/secrets/sealed-files.ts';
import { lost } from '../../shell/errors.ts';
import { hookScript, savedState, sealState } from '../../shell/script.ts';
import { type HookPhase, type InScript, inScript, requireShared, scriptBefore } from '../../shell/single-script.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change, UnmetRequirement } from '../../step/index.ts';
import { missingPrerequisites } from './account.ts';
import { OTHER_USER, repeats, runScript, type UnfinishedHook } from './group.ts';
import { digests, HOOKS_LEFT, isDone, parseNote, whyAgain } from './record.ts';
import { syntaxTrouble } from './syntax.ts';

export interface HooksDesired extends InScript {
  readonly phase: HookPhase;
  readonly group: HookGroup;
  /** True where an early hook of the same document may still install the shell. */
  readonly afterEarlyHooks: boolean;
  /** True where an earlier step makes the user that the commands run as. */
  readonly makesUser: boolean;
}

export interface HooksActual {
  readonly done: boolean;
  /** What an earlier run of the same commands left unfinished. */
  readonly unfinished: UnfinishedHook | undefined;
  /** Why it runs again though it was done. */
  readonly again?: string | undefined;
}

export interface HooksPayload extends HooksDesired {
  readonly unfinished: UnfinishedHook | undefined;
}

/** Runs before any other change. */
export const earlyHooks = hooksStep('hooks-early', 'early');
/** After the files in /run/kubeadm are written; may edit them. */
export const beforeBootstrapHooks = hooksStep('hooks-before-bootstrap', 'beforeBootstrap');
/** Runs only after proven success: after a failure the pipeline never reaches it. */
export const afterBootstrapHooks = hooksStep('hooks-after-bootstrap', 'afterBootstrap');

/** Entries that the shell would not understand: each is read by itself, as the driver does it. */
async function syntaxObstacles(host: QueryHost, { phase, group }: HooksDesired): Promise<readonly UnmetRequirement[]> {
  const { shell, commands, onError } = group;
  if (shell !== 'sh' && shell !== 'bash') return [];
  const found: UnmetRequirement[] = [];
  for (const [index, command] of commands.entries()) {
    const trouble = await syntaxTrouble(host, shell, command);
    if (trouble === undefined) continue;
    const field = `host.hooks.${phase}.commands[${index}]`;
    const line = trouble.line === undefined ? '' : ` in its line ${trouble.line}`;
    found.push({
      reason: 'HookSyntaxInvalid',
      what: `${shell} does not understand ${field}${line}: ${trouble.text}`,
      remedy: `Correct it; "${shell} -n FILE" checks a script without executing it.`,
      field,
      scope: 'node',
      // With onError Continue the run continues after it, and a shell may end before it reads the entry.
      ...(trouble.isBehindEnd || onError !== 'Fail' ? { severity: 'warning' } : { certain: true }),
    });
  }
  return found;
}

/**
 * A group of commands, run once on an instance, in one shell. A group that was killed, or that failed, continues with the
 * entry it was in, in a shell that is proven to be like the one before (`shell/driver.ts`): an entry that was interrupted
 * runs again, one that ended does not. Where the shell cannot be restored the whole group runs again, for an entry that
 * ran without `set -e`, or without a function that it calls, could pass a check that fails. Commands that were changed in
 * between start the group from its first entry, too. The commands are never arguments, and their standard input is empty.
 */
function hooksStep(id: StepId, phase: HookPhase): FeatureStep<HooksDesired, HooksActual, HooksPayload> {
  const script = hookScript(id);
  const changeId = `${id}/run`;
  return {
    id,
    section: `host.hooks.${phase}`,
    stays: ({ host }, { acted }) =>
      acted !== undefined && host.hooks[phase] === undefined
        ? [[id, `the effects of ${stepTitle(id)} stay: machineadm does not know them`]]
        : [],
    isRequested: STAYS,
    leaves: HOOKS_LEFT,
    hooks: { hasRun: ({ group }, record) => isDone(group, changeId, record) },

    desired(model: Model) {
      const group = model.host.hooks[phase];
      if (group === undefined || group.commands.length === 0) return undefined;
      const isEarly = phase === 'early';
      return {
        phase,
        group,
        afterEarlyHooks: !isEarly && model.host.hooks.early !== undefined,
        makesUser: !isEarly && model.host.users.some(({ name }) => name === group.user),
        ...inScript(phase, model),
      };
    },

    async preflight(host, desired, record) {
      // A group that ran is not run again, except for groups of every boot.
      const isOnce = desired.group.frequency !== 'Always';
      if (isOnce && record !== undefined && isDone(desired.group, changeId, record)) return [];
      const { shell } = desired.group;
      const hasShell = (await host.which(shell)) !== undefined;
      const wrong = hasShell ? await syntaxObstacles(host, desired) : [];
      if (desired.afterEarlyHooks) return wrong;
      const missing: UnmetRequirement[] = [...wrong, ...(await missingPrerequisites(host, desired))];
      if (!hasShell) {
        const what = `${shell}, the shell of host.hooks.${phase}, is not installed`;
        const remedy = `Install ${shell}, or choose another shell under host.hooks.${phase}.shell.`;
        missing.push({ reason: 'HookFailed', what, remedy, scope: 'node' });
      }
      return missing;
    },

    secrets: ({ group }) => secretsIn(group),

    async inspect(host, desired, record) {
      const note = parseNote(record.notes.get(changeId));
      if (isDone(desired.group, changeId, record)) return { done: true, unfinished: undefined };
      const again = whyAgain(desired.group, changeId, record);
      if (note === undefined || again !== undefined) return { done: false, unfinished: undefined, again };
      const why = await whyUnreadable(host, script.state);
      if (why !== undefined) return { done: false, unfinished: { token: undefined, why } };
      const { completed, kind } = await savedState(host, script, note.token);
      const same = note.commands.slice(0, completed).every((digest, index) => digest === digests(desired.group)[index]);
      if (desired.group.user !== undefined && completed === 0 && record.interrupted.has(changeId))
        return { done: false, unfinished: { token: undefined, why: OTHER_USER } };
      if (completed === 0 || !same) return { done: false, unfinished: undefined };
      const isWhole = kind === 'whole' || kind === 'fresh';
      const unfinished = isWhole ? { token: note.token, completed, kind } : { token: undefined, why: lost(kind) };
      return { done: false, unfinished };
    },

    plan(desired, actual) {
      if (actual.done) return [];
      const count = desired.group.commands.length;
      const { unfinished } = actual;
      const run = `run ${count === 1 ? '1 command' : `${count} commands`} with ${desired.group.shell}`;
      const what =
        unfinished === undefined
          ? `${run}${actual.again === undefined ? '' : `, ${actual.again}`}`
          : unfinished.token === undefined
            ? `${run}, again from the first: ${unfinished.why}`
            : `continue after command ${unfinished.completed} of ${count}, where an earlier run ended`;
      const payload = { ...desired, unfinished };
      return [
        {
          id: changeId,
          summary: what,
          commands: desired.group.commands,
          scope: 'node',
          repeatable: false,
          payload,
        } satisfies Change<HooksPayload>,
      ];
    },

    async apply(host, change, execution) {
      const { group, unfinished, continuing } = change.payload;
      const begin = (token: string): string => {
        execution.remember({ token, commands: digests(group) });
        return token;
      };
      const from = unfinished?.token === undefined ? await scriptBefore(host, script, change.payload) : unfinished;
      if (unfinished?.token === undefined && unfinished !== undefined)
        execution.warn(`${id}: ${repeats(unfinished.why)}`);
      const token = await runScript(host, { id, phase, group, from, begin, continuing }, execution);
      if (group.onError === 'Script' && phase === 'beforeBootstrap')
        await requireShared(host, id, token, group, execution);
      else await sealState(host, script, token, group.commands.length);
    },

    async settled(host, { phase, group }) {
      // The state is removed only after the journal records that the group is done.
      if (group.onError !== 'Script' || phase !== 'beforeBootstrap') await host.removeFile(script.state);
    },
  };
}
