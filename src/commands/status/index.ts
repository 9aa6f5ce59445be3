import type { AddCommand } from '../../cli/command-tree.ts';
import { jsonStreamOption, outputOption, timeoutOption } from '../../cli/options.ts';
import type { StatusOptions } from './run.ts';

export const addStatus: AddCommand = (program, done) => {
  program
    .command('status')
    .description('show the progress or the result of the run on this machine')
    .addOption(outputOption('html'))
    .option('--wait', 'wait for the end of the run, and exit with its exit code; a terminal shows the progress')
    .option('--follow', 'the same, and print each event as a line on stderr')
    .option('--timeline', 'add to the text how long each part took; json and html always have it')
    .addOption(jsonStreamOption())
    .addOption(timeoutOption('the wait').default('30m'))
    .addHelpText(
      'after',
      '\nExamples:\n  machineadm status --wait --timeout 10m -o json\n  machineadm status -o html > status.html    a page for a ticket',
    )
    .action(async (options: StatusOptions) => done(await (await import('./run.ts')).status(options)));
};
