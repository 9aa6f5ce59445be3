import { MachineadmError } from '@machineadm/document/errors.ts';
import { exitCode } from '@machineadm/document/exit-codes.ts';
import { oneLine } from '@machineadm/document/printable.ts';
import { printNotice } from '../../cli/output.ts';
import { untilSignal } from '../../cli/until-signal.ts';
import { runBootHooks } from './run.ts';

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
