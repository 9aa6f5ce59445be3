import type { AddCommand } from '../../cli/command-tree.ts';

export const addHooks: AddCommand = (program, done) => {
  const hooks = program
    .command('hooks', { hidden: true })
    .description('commands of the document')
    .addHelpText('after', '\nExample:\n  machineadm hooks run early');
  hooks
    .command('run')
    .description('run the hooks for every boot, if this very machine was provisioned with such (run by a boot unit)')
    .addArgument(program.createArgument('<phase>', 'which hooks').choices(['early']))
    .addHelpText('after', '\nExample:\n  machineadm hooks run early')
    .action(async () => done(await (await import('./run.ts')).hooksRun()));
};
