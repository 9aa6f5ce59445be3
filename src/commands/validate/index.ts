import type { AddCommand } from '../../cli/command-tree.ts';
import { addDocuments, type DocumentOptions, outputOption } from '../../cli/options.ts';

export const addValidate: AddCommand = (program, done) => {
  const validate = program
    .command('validate')
    .description('check a document and print every mistake with its place')
    .addOption(outputOption());
  addDocuments(validate, 'required')
    .addHelpText(
      'after',
      '\nExamples:\n  machineadm validate -f bootstrap.yaml\n  machineadm validate -f base.yaml -f drop-ins/',
    )
    .action(async (_, options: DocumentOptions) => done(await (await import('./run.ts')).validate(options)));
};
