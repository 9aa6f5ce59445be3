import { MachineadmError } from '@machineadm/document/errors.ts';
import { exitCode } from '@machineadm/document/exit-codes.ts';
import { oneLine } from '@machineadm/document/printable.ts';
import { runBootHooks } from '../commands/boot-hooks.ts';
import { printNotice } from './output.ts';

/**
 * `machineadm hooks run early`: a unit runs it at every boot, so its output is in the journal and its exit code is the
 * state of the unit. It is no error if there is nothing to run.
 */
export async function hooksRun(): Promise<number> {
  const stop = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => stop.abort(ended(signal));
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  try {
    const result = await runBootHooks({
      signal: stop.signal,
      onOutput: (source, line) => printNotice(`${source}: ${oneLine(line)}`),
    });
    if (result.ran === 0) printNotice('why' in result ? `no hooks were run: ${result.why}` : 'no hooks were run');
    else printNotice(`${result.ran} ${result.ran === 1 ? 'command' : 'commands'} of the early hooks ran`);
    return exitCode('Success');
  } finally {
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
  }
}

function ended(signal: NodeJS.Signals): MachineadmError {
  return new MachineadmError({
    reason: 'Interrupted',
    summary: `the hooks were ended by ${signal}`,
    remedy: 'They run again at the next boot, or with `systemctl start machineadm-hooks`.',
    retryable: true,
  });
}
