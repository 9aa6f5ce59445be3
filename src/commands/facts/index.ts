import type { AddCommand } from '../../cli/command-tree.ts';
import { outputOption } from '../../cli/options.ts';
import type { OutputFormat } from '../../cli/output-format.ts';

export const addFacts: AddCommand = (program, done) => {
  program
    .command('facts')
    .description('show facts about the machine: system, versions, hardware, and values for variables')
    .addOption(outputOption())
    .addHelpText('after', '\nExamples:\n  machineadm facts\n  machineadm facts -o jsonpath={.hardware.memory}')
    .action(async (options: { output: OutputFormat }) => done(await (await import('./run.ts')).facts(options)));
};
