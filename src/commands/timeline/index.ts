import type { AddCommand } from '../../cli/command-tree.ts';
import { outputOption } from '../../cli/options.ts';
import type { OutputFormat } from '../../cli/output-format.ts';

export const addTimeline: AddCommand = (program, done) => {
  program
    .command('timeline')
    .description("show how long each part took, from the kernel's boot to the end of the run")
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  machineadm timeline')
    .action(async (options: { output: OutputFormat }) => done(await (await import('./run.ts')).timeline(options)));
};
