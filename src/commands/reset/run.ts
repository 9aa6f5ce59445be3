import { randomUUID } from 'node:crypto';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { oneLine } from '@machineadm/document/text/printable.ts';
import { MACHINE_SENTENCES } from '@machineadm/status/this-machine.ts';
import { type OutputFormat, printData, printNotice, printText } from '../../cli/output.ts';
import { interrupted, untilSignal } from '../../cli/until-signal.ts';
import { usageError } from '../../cli/usage-error.ts';
import { LOCK_PATH } from '../../host/files/paths.ts';
import { endOrphans, gatherFacts, openHost, requireLinux } from '../../host/index.ts';
import { archiveLog } from '../../host/local-files/append-log.ts';
import { acquireLock } from '../../host/processes/lock.ts';
import { forgetUnusedKeys } from '../../host/secrets/sealed-files.ts';
import { documentTitle } from '../../pipeline/documents.ts';
import { recordedOnThisMachine } from '../../pipeline/journal-record.ts';
import { AFTER_RESET, BEFORE_RESET, machineStateOf, thisMachine } from '../../pipeline/machine-state.ts';
import { STEPS_BY_ID } from '../../pipeline/pipeline.ts';
import { refuseUnlessRoot } from '../../pipeline/preflight.ts';
import { asRefusal } from '../../pipeline/refusal.ts';
import { JOURNAL_PATH, peekJournal } from '../../pipeline/run-journal.ts';
import { forgetCopies, openCopy } from '../../prior-state/copies.ts';
import { removeStatus, STATUS_PATHS } from '../../reporting/status-writer.ts';
import { performReset, type ResetWatch } from '../../undo/reset/perform.ts';
import { describeReset, planReset, type ResetPlan } from '../../undo/reset/plan.ts';
import { documentIn, forgetDocument, madeBy, madeIn, noteReset, nothingToReset } from './journal.ts';

export interface ResetOptions {
  readonly document?: string;
  readonly leaveFiles?: true;
  readonly dryRun?: true;
  readonly yes?: true;
  readonly output: OutputFormat;
}

/** `machineadm reset`: shows what will be removed, asks for confirmation on a terminal, and removes it. */
export async function resetCommand(options: ResetOptions): Promise<number> {
  let actions: readonly string[] = [];
  const ended = await untilSignal(
    (signal) =>
      reset({
        leaveFiles: options.leaveFiles === true,
        document: options.document,
        signal,
        confirm: async (planned, question) => {
          actions = planned;
          return await mayProceed(actions, question, options);
        },
        line: (text) => printNotice(oneLine(text)),
      }),
    (signal) => interrupted('the reset', signal),
  );
  const { done, said } = ended;
  if (options.output !== 'text') await printData(options.output, 'ResetResult', { done, actions });
  else if (said !== undefined) printText(said);
  return exitCode('Success');
}

/** Nothing is deleted without `--yes` or a confirmation on the terminal. */
async function mayProceed(actions: readonly string[], question: string, options: ResetOptions): Promise<boolean> {
  if (options.dryRun === true) {
    if (options.output === 'text') printText([...actions, `${actions.length} actions; nothing was changed`].join('\n'));
    return false;
  }
  if (options.yes === true) return true;
  if (process.stdin.isTTY !== true) {
    throw usageError(
      'a reset undoes what machineadm changed, and there is no terminal to confirm it',
      'Pass --yes. To see the changes first, use --dry-run.',
    );
  }
  printNotice(actions.join('\n'));
  const { createInterface } = await import('node:readline/promises');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${question} [y/N] `);
    return /^y(?:es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}

export interface ResetRequest extends ResetWatch {
  readonly leaveFiles: boolean;
  /** The name of a document that is reset alone; undefined: everything is. */
  readonly document?: string | undefined;
  /** Called with one line for each action; false cancels the reset before any change. */
  confirm(actions: readonly string[], question: string): Promise<boolean>;
}

/** How a reset ended. */
export interface ResetEnd {
  /** False where it was not confirmed, or there was nothing to undo. */
  readonly done: boolean;
  /** For people; undefined: it was not confirmed. */
  readonly said: string | undefined;
}

/**
 * Removes what the runs of this machine created: the node, then files according to the journal, and finally the journal
 * itself, which is kept as journal.reset. An interrupted reset can be run again. Changes that cannot be attributed or
 * undone are kept: what users put into their homes, disks, images, effects of hooks.
 *
 * @throws MachineadmError `NoRun` where the journal is that of another machine or knows no such document, `MountInTheWay`, `Locked`, `BootstrapperFailed`,
 * `ResetFailed`
 */
export async function reset(request: ResetRequest): Promise<ResetEnd> {
  requireLinux('machineadm reset');
  const runId = randomUUID();
  const host = openHost({ runId });
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  const lock = await acquireLock(LOCK_PATH).catch((error: unknown) => {
    throw asRefusal(error);
  });
  try {
    const journal = await peekJournal(host);
    if (journal === undefined) {
      // Done before, or never begun: a refused run changes nothing.
      const { state } = await thisMachine(facts.machineId, {}, host);
      return { done: false, said: `there is nothing to undo: ${MACHINE_SENTENCES[state]}` };
    }
    if (!recordedOnThisMachine(journal.identity, facts)) {
      throw nothingToReset('the journal on this disk belongs to another machine, of which this disk is a copy');
    }
    const one = documentIn(journal, request.document);
    const made = one === undefined ? madeIn(journal) : await madeBy(host, journal, one);
    const plan = await planReset(STEPS_BY_ID, host, made, { ...request, osId: facts.os.id });
    refuseForeignMounts(plan);
    const state = machineStateOf(journal, false);
    const question = one === undefined ? BEFORE_RESET[state] : `Undo what the document ${documentTitle(one)} changed?`;
    if (!(await request.confirm(describeReset(plan), question))) return { done: false, said: undefined };
    await endOrphans(host, journal.unfinishedRuns);
    await noteReset(host, journal, runId, plan, one?.key);
    await performReset(host, plan, request);
    const kept = plan.restore.flatMap(({ keeps }) => keeps ?? []);
    // One that cannot be decrypted stays as it is: the plan said so.
    for (const copy of kept) await openCopy(host, copy).catch(() => {});
    if (one !== undefined) {
      await forgetDocument(host, journal, one.key, made.lines ?? []);
      return { done: true, said: `what only the document ${documentTitle(one)} asked for is undone` };
    }
    await forgetCopies(host, kept);
    await forgetUnusedKeys(host);
    // These describe a node that no longer exists.
    for (const path of Object.values(STATUS_PATHS)) await removeStatus(host, path);
    archiveLog(JOURNAL_PATH, `${JOURNAL_PATH}.reset`);
    return { done: true, said: `${AFTER_RESET[state]}; the journal is kept as journal.reset` };
  } finally {
    lock.release();
  }
}

function refuseForeignMounts({ mounts }: ResetPlan): void {
  const { foreign } = mounts;
  if (foreign.length === 0) return;
  throw new MachineadmError({
    reason: 'MountInTheWay',
    summary: `Nothing was changed: ${foreign.join(', ')} ${foreign.length === 1 ? 'is' : 'are'} mounted below directories that a reset deletes, and not by the kubelet.`,
    remedy: `Unmount ${foreign.join(' and ')}, so that nothing there is deleted, and run machineadm reset again.`,
    evidence: foreign.map((point) => ({ source: 'mountinfo', text: point })),
  });
}
