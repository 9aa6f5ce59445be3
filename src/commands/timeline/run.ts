import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { stepTitle } from '@machineadm/document/ownership/step-ids.ts';
import type { Style } from '@machineadm/status/progress.ts';
import type { RunStatus } from '@machineadm/status/status.ts';
import { formatTimeline } from '@machineadm/status/timeline-chart.ts';
import { type OutputFormat, printData, printText } from '../../cli/output.ts';
import { usesColor, wrapWidthOf } from '../../cli/terminal.ts';
import { readStatus } from '../../reporting/status-file.ts';

/** The width in a pipe. */
const WIDE = 100;

/** `machineadm timeline`: shows how long each part of the run took. */
export async function timeline({ output }: { readonly output: OutputFormat }): Promise<number> {
  const found = await readStatus();
  if (found === undefined) throw noRun();
  if (output !== 'text') await printData(output, 'Timeline', { runId: found.runId, timeline: found.timeline });
  else printText(chartOf(found));
  return exitCode('Success');
}

export function chartOf(status: RunStatus): string {
  const columns = wrapWidthOf(process.stdout) ?? WIDE;
  return formatTimeline({ timeline: withRunningStep(status, Date.now()) }, { ...style(), columns });
}

/** The timeline including the step that runs now; the status has a step only after it ended. */
export function withRunningStep(status: RunStatus, nowMs: number): RunStatus['timeline'] {
  const { timeline, steps, phase } = status;
  const running = phase === 'Concluded' ? undefined : steps.find(({ state }) => state === 'Running');
  if (running?.startedAt === undefined || timeline.some(({ name }) => name === running.id)) return timeline;
  const sinceBootMs = Math.max(0, ...timeline.map((entry) => entry.sinceBootMs + entry.durationMs));
  return [
    ...timeline,
    { name: running.id, sinceBootMs, durationMs: Math.max(0, nowMs - Date.parse(running.startedAt)) },
  ];
}

export function style(): Style {
  return { color: usesColor(process.stdout), titleOf: stepTitle };
}

export function noRun(): MachineadmError {
  return new MachineadmError({
    reason: 'NoRun',
    summary: 'no run of machineadm is recorded on this machine',
    remedy: 'Start a run with `machineadm provision -f FILE`.',
  });
}
