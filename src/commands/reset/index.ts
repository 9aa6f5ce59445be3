import type { AddCommand } from '../../cli/command-tree.ts';
import { outputOption } from '../../cli/options.ts';
import type { ResetOptions } from './run.ts';

export const addReset: AddCommand = (program, done) => {
  program
    .command('reset')
    .description('remove the node, and restore the machine to its state before the first run')
    .addOption(outputOption())
    .option('--document <name>', 'undo only what this document asked for, and no other document')
    .option('--leave-files', 'remove only the node')
    .option('--dry-run', 'show what would be changed; changes nothing')
    .option('--yes', 'do not ask for confirmation')
    .addHelpText('after', '\nExample:\n  machineadm reset --dry-run')
    .action(async (options: ResetOptions) => done(await (await import('./run.ts')).resetCommand(options)));
};
