import type { AddCommand } from '../../cli/command-tree.ts';
import {
  addDocuments,
  type DocumentOptions,
  insecureDocumentOption,
  jsonStreamOption,
  outputOption,
  timeoutOption,
} from '../../cli/options.ts';
import type { ProvisionOptions } from '../provision/run.ts';

interface PrepareOptions extends DocumentOptions, ProvisionOptions {
  readonly verify?: true;
  readonly dryRun?: true;
}

export const addPrepare: AddCommand = (program, done) => {
  const prepare = program
    .command('prepare')
    .description('make only the changes that belong in an image (a bake)')
    .addOption(insecureDocumentOption())
    .addOption(outputOption())
    .option('--dry-run', 'show what would be changed, as machineadm plan --prepare does; changes nothing')
    .option(
      '--verify',
      'change nothing; list differences from the document, and everything in the image that belongs to one machine',
    )
    .addOption(jsonStreamOption())
    .addOption(timeoutOption('the whole run'));
  addDocuments(prepare, 'required')
    .addHelpText(
      'after',
      '\nExamples:\n  machineadm prepare -f base.yaml\n  machineadm prepare --verify -f base.yaml    as the last step of the bake',
    )
    .action(async (_, { verify, dryRun, ...options }: PrepareOptions) => {
      if (verify === true) done(await (await import('./verify-image.ts')).verifyImageCommand(options));
      else if (dryRun === true) done(await (await import('../plan/run.ts')).plan({ ...options, prepare: true }));
      else done(await (await import('../provision/run.ts')).provision('prepare', options));
    });
};
