import type { AddCommand } from '../../cli/command-tree.ts';

export const addSentinel: AddCommand = (program, done) => {
  const sentinel = program
    .command('sentinel', { hidden: true })
    .description('the file that reports the success to others')
    .addHelpText('after', '\nExample:\n  machineadm sentinel restore');
  sentinel
    .command('restore')
    .description('restore the sentinel after a reboot, if this very machine was bootstrapped (run by a boot unit)')
    .addHelpText('after', '\nExample:\n  machineadm sentinel restore')
    .action(async () => done(await (await import('./restore.ts')).sentinelRestore()));
};
