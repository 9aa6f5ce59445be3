import type { AddCommand } from '../../cli/command-tree.ts';
import { addDocuments, outputOption } from '../../cli/options.ts';
import type { BundleOptions } from './run.ts';

export const addBundle: AddCommand = (program, done) => {
  const bundle = program
    .command('bundle')
    .description('write everything that a bug report needs into one file, without secrets; changes nothing else')
    .option('--output-file <file>', 'the file to write, or - for stdout (default: machineadm-bundle.tar.gz)')
    .option('--output-dir <directory>', 'write machineadm-bundle.tar.gz into this directory')
    .addOption(outputOption());
  addDocuments(bundle)
    .addHelpText('after', '\nExample:\n  machineadm bundle -f bootstrap.yaml --output-file /root/bundle.tar.gz')
    .action(async (_, options: BundleOptions) => done(await (await import('./run.ts')).bundle(options)));
};
