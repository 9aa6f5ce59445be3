import type { AddCommand } from '../../cli/command-tree.ts';
import { addDocuments, type DocumentOptions, outputOption } from '../../cli/options.ts';

export const addConfig: AddCommand = (program, done) => {
  const config = program
    .command('config')
    .description('print the merged document')
    .usage('[show] [options] [document...]')
    .addHelpText('after', '\nExample:\n  machineadm config -f bootstrap.yaml');
  const show = config
    .command('show')
    .description('print the merged document, without secrets')
    .addOption(outputOption())
    .option('--origin', 'print for each field which source set it');
  addDocuments(show, 'required')
    .addHelpText('after', '\nExample:\n  machineadm config show --origin -f base.yaml -f site.d/')
    .action(async (_, options: DocumentOptions & { origin?: true }) =>
      done(await (await import('./show.ts')).configShow(options)),
    );
};
