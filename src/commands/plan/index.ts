import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import type { AddCommand } from '../../cli/command-tree.ts';
import { addDocuments, insecureDocumentOption, outputOption } from '../../cli/options.ts';
import type { PlanCommandOptions } from './run.ts';

export const addPlan: AddCommand = (program, done) => {
  const plan = program
    .command('plan')
    .description('show what provision would change here; changes nothing')
    .addOption(insecureDocumentOption())
    .addOption(outputOption())
    .option('--prepare', 'plan for prepare instead of provision')
    .option('--diff', 'show how files would change, the content of new ones, and the commands of hooks')
    .option('--ids', 'show the id of each change, as in -o json and in the status')
    .option('--exit-code', `exit with ${exitCode('DifferencesFound')} when there is something to change`);
  const refused = `Exits with ${exitCode('Refused')} if provision would refuse to start.`;
  addDocuments(plan, 'required')
    .addHelpText(
      'after',
      `\n+ add, ~ change, - remove, > run, ↻ restart; -v shows where the document asks for each.\n${refused}\n\nExample:\n  machineadm plan -f bootstrap.yaml --diff`,
    )
    .action(async (_, options: PlanCommandOptions) => done(await (await import('./run.ts')).plan(options)));
};
