import { MachineadmError } from '@machineadm/document/errors.ts';
import { exitCode } from '@machineadm/document/exit-codes.ts';
import { oneLine } from '@machineadm/document/printable.ts';
import { reset } from '../commands/reset.ts';
import { type OutputFormat, printData, printNotice, printText } from './output.ts';
import { interrupted, untilSignal } from './until-signal.ts';

export interface ResetOptions {
  readonly leaveFiles?: true;
  readonly dryRun?: true;
  readonly yes?: true;
  readonly output: OutputFormat;
}

/** `machineadm reset`: shows what will be removed, asks for confirmation on a terminal, and removes it. */
export async function resetCommand(options: ResetOptions): Promise<number> {
  let actions: readonly string[] = [];
  const done = await untilSignal(
    (signal) =>
      reset({
        leaveFiles: options.leaveFiles === true,
        signal,
        confirm: async (planned) => {
          actions = planned;
          return await mayProceed(actions, options);
        },
        line: (text) => printNotice(oneLine(text)),
      }),
    (signal) => interrupted('the reset', signal),
  );
  if (options.output !== 'text') await printData(options.output, 'ResetResult', { done, actions });
  else if (done) printText('this machine is no longer a node; the journal is kept as journal.reset');
  return exitCode('Success');
}

/** Nothing is deleted without `--yes` or a confirmation on the terminal. */
async function mayProceed(actions: readonly string[], options: ResetOptions): Promise<boolean> {
  if (options.dryRun === true) {
    if (options.output === 'text') printText([...actions, `${actions.length} actions; nothing was changed`].join('\n'));
    return false;
  }
  if (options.yes === true) return true;
  if (process.stdin.isTTY !== true) {
    throw new MachineadmError({
      reason: 'UsageInvalid',
      summary: 'a reset deletes this node, and there is no terminal to confirm it',
      remedy: 'Pass --yes. To see the changes first, use --dry-run.',
    });
  }
  printNotice(actions.join('\n'));
  const { createInterface } = await import('node:readline/promises');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question('Delete this node? [y/N] ');
    return /^y(?:es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}
