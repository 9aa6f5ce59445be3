import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { HOOKS_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { oneLine } from '@machineadm/document/text/printable.ts';
import { printNotice } from '../../cli/output.ts';
import { untilSignal } from '../../cli/until-signal.ts';
import { runHookGroup } from '../../features/hooks/group.ts';
import { BOOT_HOOKS_ID, isBootHooksFile, parseKeptHooks } from '../../features/hooks/kept.ts';
import { gatherFacts, openHost, requireLinux } from '../../host/index.ts';
import type { Facts } from '../../host/seam/facts.ts';
import type { Host } from '../../host/seam/host.ts';
import { readSealedText } from '../../host/secrets/sealed-files.ts';
import type { JournalState } from '../../pipeline/journal.ts';
import { recordedOnThisMachine } from '../../pipeline/journal-record.ts';
import { refuseUnlessRoot } from '../../pipeline/preflight.ts';
import { peekJournal } from '../../pipeline/run-journal.ts';

/**
 * `machineadm hooks run early`: a unit runs it at every boot, so its output is in the journal and its exit code is the
 * state of the unit. It is no error if there is nothing to run.
 */
export async function hooksRun(): Promise<number> {
  const result = await untilSignal(
    (signal) => runBootHooks({ signal, onOutput: (source, line) => printNotice(`${source}: ${oneLine(line)}`) }),
    ended,
  );
  if (result.ran === 0) printNotice('why' in result ? `no hooks were run: ${result.why}` : 'no hooks were run');
  else printNotice(`${result.ran} ${result.ran === 1 ? 'command' : 'commands'} of the early hooks ran`);
  return exitCode('Success');
}

function ended(signal: NodeJS.Signals): MachineadmError {
  return new MachineadmError({
    reason: 'Interrupted',
    summary: `the hooks were ended by ${signal}`,
    remedy: 'They run again at the next boot, or with `systemctl start machineadm-hooks`.',
    retryable: true,
  });
}

interface BootHooks {
  /** Aborted by a signal to the process, with a `MachineadmError` as its reason. */
  readonly signal: AbortSignal;
  /** A line of a hook's output, or a warning; redacted. */
  readonly onOutput: (source: string, line: string) => void;
}

/**
 * Runs the early hooks that are for every boot, if this machine was provisioned with such hooks. While the provisioning
 * run itself can still be resumed, it runs them, and this does nothing. Throws `HookFailed`, `HookTimedOut`,
 * `HooksUnreadable`.
 *
 * @returns how many commands were run, or why none was
 */
async function runBootHooks({
  signal,
  onOutput,
}: BootHooks): Promise<{ readonly ran: number } | { readonly ran: 0; readonly why: string }> {
  requireLinux('machineadm hooks run');
  const host = openHost({ runId: BOOT_HOOKS_ID });
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  const names = ((await host.list(HOOKS_DIRECTORY)) ?? []).filter(isBootHooksFile).sort();
  if (names.length === 0) return { ran: 0, why: 'this machine has none' };
  const journal = await peekJournal(host);
  let [ran, why] = [0, ''];
  let failure: { readonly error: unknown } | undefined;
  // A hook that fails does not stop those of other documents.
  for (const name of names) {
    try {
      const result = await runKept(host, `${HOOKS_DIRECTORY}/${name}`, journal, facts, { signal, onOutput });
      ran += result.ran;
      if (result.ran === 0) ({ why } = result);
    } catch (error) {
      failure ??= { error };
      signal.throwIfAborted();
    }
  }
  if (failure !== undefined) throw failure.error;
  return ran === 0 ? { ran, why } : { ran };
}

const OF_ANOTHER_MACHINE = { ran: 0, why: 'those on this disk belong to another machine' } as const;

/** The hooks of one document. */
async function runKept(
  host: Host,
  path: string,
  journal: JournalState | undefined,
  facts: Facts,
  { signal, onOutput }: BootHooks,
): Promise<{ readonly ran: number; readonly why: string }> {
  // Those of another machine cannot be decrypted.
  if (journal === undefined || !recordedOnThisMachine(journal.identity, facts)) return OF_ANOTHER_MACHINE;
  const text = await readSealedText(host, path).catch((error) => {
    throw unreadable(errorMessage(error));
  });
  const kept = parseKeptHooks(text ?? '');
  if (kept === undefined) {
    throw unreadable(`${path} was not written by a version of machineadm that this version understands`);
  }
  if (!recordedOnThisMachine(kept, facts)) return OF_ANOTHER_MACHINE;
  const own = [...journal.hooks].filter(([document]) => kept.document === undefined || document === kept.document);
  if (!own.some(([, steps]) => steps.get('hooks-early')?.done.has('hooks-early/run') === true)) {
    return { ran: 0, why: 'the first run of machineadm provision has not run them to their end' };
  }
  try {
    await runHookGroup(host, BOOT_HOOKS_ID, 'early', kept.group, {
      signal,
      waitingFor: () => {},
      output: (source, line) => onOutput(source, redact(line)),
      warn: (message) => onOutput(BOOT_HOOKS_ID, redact(message)),
      release: () => {},
      remember: () => {},
    });
  } catch (error) {
    throw atBoot(error);
  }
  return { ran: kept.group.commands.length, why: '' };
}

/** In a run the remedy for a hook is to run again; at boot there is no run to resume. */
function atBoot(error: unknown): unknown {
  if (!(error instanceof MachineadmError) || !['HookFailed', 'HookTimedOut'].includes(error.reason)) return error;
  const { reason, message: summary, evidence, transcript, retryable } = error;
  return new MachineadmError({
    reason,
    summary,
    remedy:
      'Correct what the command depends on; `systemctl start machineadm-hooks` runs them all again, as the next boot does. ' +
      'To change the commands, correct host.hooks.early and run machineadm provision.',
    evidence,
    transcript,
    retryable,
    cause: error,
  });
}

function unreadable(summary: string): MachineadmError {
  return new MachineadmError({
    reason: 'HooksUnreadable',
    summary,
    remedy: 'Run machineadm provision with the document of this machine: it writes the file again.',
  });
}
