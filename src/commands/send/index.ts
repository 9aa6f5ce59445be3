import type { AddCommand } from '../../cli/command-tree.ts';

export const addSend: AddCommand = (program, done) => {
  program
    .command('send', { hidden: true })
    .description(
      'send the events on standard input to a sink, as a user without rights (run by the deliverer of reports)',
    )
    .addHelpText('after', '\nExample:\n  machineadm send')
    .action(async () => done(await (await import('./run.ts')).send()));
};
