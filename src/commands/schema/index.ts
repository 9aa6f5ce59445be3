import { Option } from 'commander';
import type { AddCommand } from '../../cli/command-tree.ts';
import { OUTPUT_KINDS } from '../../cli/output-kinds.ts';
import type { SchemaOptions } from './run.ts';

/** The names of all results that have a schema, including those with an apiVersion of their own. */
const KINDS = ['MachineBootstrap', 'BootstrapStatus', 'BootstrapSummary', 'BootstrapEvent', ...OUTPUT_KINDS];

export const addSchema: AddCommand = (program, done) => {
  program
    .command('schema')
    .description('print the JSON Schema of the document or of a result of -o json, or write the one for editors')
    .addOption(new Option('--kind <kind>', 'the schema of this result instead of the document').choices(KINDS))
    .addOption(
      new Option(
        '--editor [directory]',
        'write the schema for editors as machineadm.schema.json beside the documents of a directory (default: the current one)',
      ).conflicts('kind'),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  machineadm schema --editor\n  machineadm schema > schema.json\n  machineadm schema --kind Plan > plan.schema.json',
    )
    .action(async (options: SchemaOptions) => done(await (await import('./run.ts')).schema(options)));
};
