import type { CommandTable } from '../cli/command-tree.ts';

/** Adds the commands that only units of the packages and machineadm itself run. They are not in the help. */
export const UNIT_COMMANDS: CommandTable = {
  sentinel(program, done) {
    const sentinel = program
      .command('sentinel', { hidden: true })
      .description('the file that reports the success to others')
      .addHelpText('after', '\nExample:\n  machineadm sentinel restore');
    sentinel
      .command('restore')
      .description('restore the sentinel after a reboot, if this very machine was bootstrapped (run by a boot unit)')
      .addHelpText('after', '\nExample:\n  machineadm sentinel restore')
      .action(async () => done(await (await import('./sentinel/restore-command.ts')).sentinelRestore()));
  },

  send(program, done) {
    program
      .command('send', { hidden: true })
      .description(
        'send the events on standard input to a sink, as a user without rights (run by the deliverer of reports)',
      )
      .addHelpText('after', '\nExample:\n  machineadm send')
      .action(async () => done(await (await import('./send/run.ts')).send()));
  },

  hooks(program, done) {
    const hooks = program
      .command('hooks', { hidden: true })
      .description('commands of the document')
      .addHelpText('after', '\nExample:\n  machineadm hooks run early');
    hooks
      .command('run')
      .description('run the hooks for every boot, if this very machine was provisioned with such (run by a boot unit)')
      .addArgument(program.createArgument('<phase>', 'which hooks').choices(['early']))
      .addHelpText('after', '\nExample:\n  machineadm hooks run early')
      .action(async () => done(await (await import('./hooks/hooks-command.ts')).hooksRun()));
  },
};
