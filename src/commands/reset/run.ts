import { MachineadmError } from '@machineadm/document/errors.ts';
import { exitCode } from '@machineadm/document/exit-codes.ts';
import { oneLine } from '@machineadm/document/printable.ts';
import { type OutputFormat, printData, printNotice, printText } from '../../cli/output.ts';
import { interrupted, untilSignal } from '../../cli/until-signal.ts';
import { reset } from './made.ts';

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
    throw new MachineadmError({
      reason: 'UsageInvalid',
      summary: 'a reset undoes what machineadm changed, and there is no terminal to confirm it',
      remedy: 'Pass --yes. To see the changes first, use --dry-run.',
    });
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
