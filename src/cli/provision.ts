import { MachineadmError } from '../document/errors.ts';
import { conventionalExitCode, type ExitConvention, exitCode } from '../document/exit-codes.ts';
import { endedForReboot } from '../pipeline/going-on.ts';
import { run } from '../pipeline/run.ts';
import { stepTitles } from '../pipeline/titles.ts';
import { colorWanted, formatFailure, formatStatus, type Style } from '../reporting/progress.ts';
import { buildInfo } from './build-info.ts';
import type { DocumentOptions } from './options.ts';
import { printJson, printNotice, printText } from './output.ts';
import { openProgress } from './progress.ts';

/** What `provision` takes beside a document. */
export interface ProvisionOptions {
  readonly resume?: true;
  readonly sink?: readonly string[];
  readonly exitCodes?: ExitConvention;
}

/** `machineadm provision` and `prepare`: one run, told on standard error as it goes and on standard output at its end. */
export async function provision(
  command: 'provision' | 'prepare',
  { document, output, resume, sink, exitCodes = 'machineadm' }: DocumentOptions & ProvisionOptions,
): Promise<number> {
  if (resume === true) {
    const found = await (await import('../pipeline/resume.ts')).findResumable();
    if (!found.resume) {
      printNotice(`nothing to go on with: ${found.why}`);
      return exitCode('Success');
    }
  }
  const titles = stepTitles();
  const progress = openProgress(process.stderr, titles);
  const styleFor = (stream: NodeJS.WriteStream): Style => ({
    color: colorWanted(stream.isTTY === true, process.env),
    titleOf: (step) => titles.get(step) ?? step,
  });
  const stop = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => stop.abort(interrupted(signal));
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  process.on('SIGHUP', onSignal);
  try {
    const status = await run({
      command,
      sources: document,
      ...(sink === undefined ? {} : { sinks: sink }),
      invoker: exitCodes,
      agentVersion: buildInfo().version,
      signal: stop.signal,
      onEvent: progress.onEvent,
      onOutput: progress.onOutput,
    });
    progress.close();
    if (output === 'json') printJson(status);
    else printText(formatStatus(status, styleFor(process.stdout)));
    if (output === 'json' && status.failure !== undefined) {
      printNotice(formatFailure(status.failure, styleFor(process.stderr)));
    }
    return conventionalExitCode(exitCodes, status.exitCode ?? exitCode('InternalError'), endedForReboot(status));
  } finally {
    progress.close();
    // A document that never came to its end must not keep the process.
    if (stop.signal.aborted && document.includes('-')) process.stdin.destroy();
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
    process.off('SIGHUP', onSignal);
  }
}

function interrupted(signal: NodeJS.Signals): MachineadmError {
  return new MachineadmError({
    reason: 'Interrupted',
    summary: `the run was ended by ${signal === 'SIGINT' ? 'Ctrl-C (SIGINT)' : signal}`,
    remedy: 'Run it again: it goes on where it was.',
    retryable: true,
  });
}
