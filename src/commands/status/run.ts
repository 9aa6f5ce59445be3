import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { formatStatus, formatSummary } from '@machineadm/status/progress.ts';
import type { RunStatus } from '@machineadm/status/status.ts';
import { eventsBetween } from '@machineadm/status/status-events.ts';
import type { Reported } from '@machineadm/status/summary.ts';
import { buildInfo } from '../../cli/build-info.ts';
import { durationOf } from '../../cli/duration.ts';
import { printEvent, printLine } from '../../cli/event-stream.ts';
import { type OutputFormat, printNotice, printObject, printPaintedReport, printText } from '../../cli/output.ts';
import { openProgress } from '../../cli/progress.ts';
import { isQuiet } from '../../cli/terminal.ts';
import { thisMachine } from '../../pipeline/machine-state.ts';
import { readReported, remedyForDetails, waitForStatus } from '../../reporting/status-file.ts';
import { chartOf, noRun, style } from '../timeline/run.ts';

export interface StatusOptions {
  readonly output: OutputFormat | 'html';
  readonly wait?: true;
  readonly follow?: true;
  readonly jsonStream?: true;
  readonly timeline?: true;
  readonly timeout: string;
}

/**
 * `machineadm status`: shows how the run goes or how it ended. With `--wait` it ends together with the run, with the
 * run's exit code, or with 13 when the time is over. A user who may not read the status gets its summary, with the same
 * exit code.
 */
export async function status(options: StatusOptions): Promise<number> {
  const timeoutMs = durationOf('--timeout', options.timeout);
  const waits = options.wait === true || options.follow === true || options.jsonStream === true;
  const found = waits ? await wait(timeoutMs, options) : await readReported();
  if (found === undefined) throw waits ? noRunInTime(options.timeout) : noRun();
  if (options.jsonStream === true) printLine(found);
  else if (options.output === 'html') {
    const { statusPage } = await import('./page.ts');
    printText(await statusPage(found, buildInfo().version));
  } else {
    const shown = found.kind === 'BootstrapStatus' ? await withThisMachine(found) : found;
    if (options.output !== 'text') await printObject(options.output, shown);
    else if (shown.kind === 'BootstrapSummary') printPaintedReport(formatSummary(shown, style()));
    else
      printPaintedReport(`${options.timeline === true ? `${chartOf(shown)}\n\n` : ''}${formatStatus(shown, style())}`);
  }
  if (found.kind === 'BootstrapSummary') printNotice(`This is the public summary. ${remedyForDetails()}`);
  if (!waits) return exitCode('Success');
  return found.phase === 'Concluded' || found.outcome !== undefined
    ? (found.exitCode ?? exitCode('InternalError'))
    : exitCode('DeadlinePassed');
}

/** The status with what the journal says of this machine, for users who may read it. */
async function withThisMachine(status: RunStatus): Promise<RunStatus> {
  try {
    const machine = await thisMachine(status.host.machineId, { isRunning: status.phase !== 'Concluded' });
    return { ...status, thisMachine: machine };
  } catch (error) {
    if (!(error instanceof MachineadmError)) throw error;
    if (error.reason === 'JournalUnreadable')
      printNotice(`the documents of this machine are unknown: ${error.message}`);
    return status;
  }
}

/** Waits for the end of the run. Where no run has begun yet, it says so to a person and waits for that too. */
async function wait(timeoutMs: number, options: StatusOptions): Promise<Reported | undefined> {
  if ((await readReported()) === undefined)
    printNotice(`no run has begun on this machine; waiting up to ${options.timeout} for one`);
  // On a terminal the progress is shown while waiting; in a pipe only with `--follow`.
  const isShown = options.follow === true || (process.stderr.isTTY === true && !isQuiet());
  const progress = isShown
    ? openProgress(process.stderr, {
        withEvents: options.follow === true,
        isShared: options.jsonStream === true && process.stdout.isTTY === true,
        isFollowed: process.stdout.isTTY === true,
      })
    : undefined;
  let last: RunStatus | undefined;
  try {
    return await waitForStatus({
      timeoutMs,
      onChange(status) {
        // A summary has no steps, so for users who may read no more the wait is silent.
        if (status.kind !== 'BootstrapStatus') return;
        for (const event of eventsBetween(last, status)) {
          progress?.onEvent(event);
          if (options.jsonStream === true) printEvent(event);
        }
        last = status;
      },
    });
  } finally {
    progress?.close();
  }
}

function noRunInTime(timeout: string): MachineadmError {
  return new MachineadmError({
    reason: 'DeadlinePassed',
    summary: `no run was seen within ${timeout}`,
    remedy: 'Check what should have started machineadm (cloud-init, a unit): `systemctl status`, `cloud-init status`.',
  });
}
