import { exitCode } from '@machineadm/document/exit-codes.ts';
import { oneLine } from '@machineadm/document/printable.ts';
import { formatDuration } from '@machineadm/document/units.ts';
import { buildInfo } from '../../cli/build-info.ts';
import { durationOf } from '../../cli/duration.ts';
import type { DocumentOptions } from '../../cli/options.ts';
import { type OutputFormat, printData, printNotice, printText } from '../../cli/output.ts';
import { untilSignal } from '../../cli/until-signal.ts';
import { flush } from './flush.ts';
import { testSinks } from './test.ts';

export interface ReportFlushOptions {
  readonly document?: readonly string[];
  readonly output: OutputFormat;
  readonly timeout: string;
  readonly linger: string;
}

/** `machineadm report flush`: delivers the reports that are waiting. */
export async function reportFlush(options: ReportFlushOptions): Promise<number> {
  const withinMs = durationOf('--timeout', options.timeout);
  const lingerMs = durationOf('--linger', options.linger);
  const reports = await untilSignal((signal) =>
    flush({
      withinMs,
      lingerMs,
      sources: options.document ?? [],
      agentVersion: buildInfo().version,
      signal,
      onNotice: printNotice,
    }),
  );
  if (options.output !== 'text') await printData(options.output, 'ReportFlush', { reports });
  else if (reports.length === 0) printText('nothing waits');
  else {
    const rows = reports.map(({ sink, target, state, pending, message }) => [
      sink,
      state,
      pending === 0 ? '' : `${pending} waiting`,
      target,
      oneLine(message ?? ''),
    ]);
    printText(table(['SINK', 'STATE', '', 'TARGET', ''], rows));
  }
  const isSettled = ({ pending, state }: (typeof reports)[number]): boolean =>
    pending === 0 && state !== 'Lost' && state !== 'Unreadable';
  return exitCode(reports.every(isSettled) ? 'Success' : 'DifferencesFound');
}

/** `machineadm report test`: sends a test report to each sink. */
export async function reportTest(options: DocumentOptions & { readonly sink?: readonly string[] }): Promise<number> {
  const { document: sources, sink: sinks = [] } = options;
  const tests = await untilSignal((signal) => testSinks({ sources, sinks, agentVersion: buildInfo().version, signal }));
  if (options.output !== 'text') await printData(options.output, 'ReportTest', { sinks: tests });
  else if (tests.length === 0) printText('the document has no sinks');
  else {
    const rows = tests.map(({ sink, result, durationMs, target, message }) => [
      sink,
      result,
      formatDuration(durationMs),
      target,
      oneLine(message ?? ''),
    ]);
    printText(table(['SINK', 'RESULT', 'TOOK', 'TARGET', ''], rows));
  }
  return exitCode(tests.every(({ result }) => result === 'Taken') ? 'Success' : 'DifferencesFound');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
