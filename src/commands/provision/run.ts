import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { conventionalExitCode, type ExitConvention, exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { stepTitle } from '@machineadm/document/ownership/step-ids.ts';
import { formatDuration } from '@machineadm/document/text/units.ts';
import { formatFailure, formatStatus, type Style } from '@machineadm/status/progress.ts';
import { buildInfo } from '../../cli/build-info.ts';
import { durationOf } from '../../cli/duration.ts';
import { printEvent, printLine } from '../../cli/event-stream.ts';
import type { DocumentOptions } from '../../cli/options.ts';
import { printMessage, printNotice, printObject, printPaintedReport } from '../../cli/output.ts';
import { openProgress, rewrites } from '../../cli/progress.ts';
import { isQuiet, usesColor } from '../../cli/terminal.ts';
import { interrupted } from '../../cli/until-signal.ts';
import { usageError } from '../../cli/usage-error.ts';
import { sharesDestination } from '../../host/processes/standard-streams.ts';
import { endedForReboot } from '../../pipeline/reboot-resume.ts';
import type { ResumableCommand } from '../../pipeline/resume.ts';
import { run } from '../../pipeline/run.ts';
import type { RunRequest } from '../../pipeline/run-check.ts';

/** The longest time of a timer in Node: about 24 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The options of `provision` beside the document. */
export interface ProvisionOptions {
  readonly resume?: true;
  readonly jsonStream?: true;
  readonly timeout?: string;
  readonly boot?: true;
  readonly sink?: readonly string[];
  readonly exitCodes?: ExitConvention;
  /** Of `machineadm upgrade`. */
  readonly upgrade?: NonNullable<RunRequest['upgrade']>;
}

/**
 * `machineadm provision`, `prepare` and `upgrade`: one run. Its progress goes to standard error, its result to standard output.
 */
export async function provision(
  command: 'provision' | 'prepare' | 'upgrade',
  {
    document,
    output,
    resume,
    boot,
    sink,
    jsonStream,
    timeout,
    exitCodes = 'machineadm',
    upgrade,
  }: DocumentOptions & ProvisionOptions,
): Promise<number> {
  const timeoutMs = timeout === undefined ? undefined : durationOf('--timeout', timeout);
  const idle = await nothingToDo(document, { resume, boot, command: command === 'upgrade' ? 'upgrade' : 'provision' });
  if (idle !== undefined) {
    printNotice(idle);
    return exitCode('Success');
  }
  // The lines of the progress stay above the report, in one text.
  const isOneText =
    output === 'text' && jsonStream !== true && !isQuiet() && !rewrites(process.stderr) && sharesDestination();
  const progress = openProgress(process.stderr, {
    isOneText,
    isShared: jsonStream === true && process.stdout.isTTY === true,
    isFollowed: process.stdout.isTTY === true,
  });
  const styleFor = (stream: NodeJS.WriteStream): Style => ({
    color: usesColor(stream),
    titleOf: stepTitle,
  });
  const stop = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => stop.abort(interrupted('the run', signal));
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => stop.abort(timedOut(timeoutMs)), Math.min(timeoutMs, LONGEST_TIMER_MS));
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  process.on('SIGHUP', onSignal);
  try {
    const status = await run({
      command,
      sources: document,
      ...(sink === undefined ? {} : { sinks: sink }),
      ...(upgrade === undefined ? {} : { upgrade }),
      invoker: exitCodes,
      agentVersion: buildInfo().version,
      signal: stop.signal,
      onShown: progress.onEvent,
      ...(jsonStream === true ? { onEvent: printEvent } : {}),
      onOutput: progress.onOutput,
    });
    progress.close();
    if (jsonStream === true) printLine(status);
    else if (output !== 'text') await printObject(output, status);
    else printPaintedReport(formatStatus(status, { ...styleFor(process.stdout), isOneText }));
    if ((output !== 'text' || jsonStream === true) && status.failure !== undefined) {
      printMessage(formatFailure(status.failure, styleFor(process.stderr)));
    }
    return conventionalExitCode(exitCodes, status.exitCode ?? exitCode('InternalError'), endedForReboot(status));
  } finally {
    clearTimeout(timer);
    progress.close();
    // Standard input that never ends must not keep the process alive.
    if (stop.signal.aborted && document.includes('-')) process.stdin.destroy();
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
    process.off('SIGHUP', onSignal);
  }
}

/**
 * Why a run has nothing to do when a unit starts it at every boot. undefined: there is work, or a person started it.
 */
async function nothingToDo(
  document: readonly string[],
  {
    resume,
    boot,
    command,
  }: { readonly resume: true | undefined; readonly boot: true | undefined; readonly command: ResumableCommand },
): Promise<string | undefined> {
  if (resume === undefined && boot === undefined) return undefined;
  if (resume === true && boot === true) throw bothGiven();
  const { findBootWork, findResumeWork } = await import('../../pipeline/boot-apply.ts');
  if (boot === true) {
    const found = await findBootWork(document);
    return found.run ? undefined : `nothing to do: ${found.why}`;
  }
  const found = await findResumeWork(document, command);
  return found.resume ? undefined : `nothing to resume: ${found.why}`;
}

function bothGiven(): MachineadmError {
  return usageError(
    '--boot and --resume exclude each other',
    'Use --boot if a unit starts the first run, and --resume if another program starts it.',
  );
}

function timedOut(timeoutMs: number): MachineadmError {
  return new MachineadmError({
    reason: 'DeadlinePassed',
    summary: `the run did not end within ${formatDuration(timeoutMs)} (--timeout)`,
    remedy:
      'Check what it waited for. Finished work stays: run the command again with a longer --timeout, and it continues.',
    retryable: true,
  });
}
