import type { Role } from '@machineadm/document/index.ts';
import { type Command, Option } from 'commander';
import type { ExplainOptions } from './explain.ts';

/** The commands that tell what a document looks like. */
export function addDocumentCommands(program: Command, done: (status: number) => void): void {
  program
    .command('example')
    .description('print an annotated document to start from')
    .addOption(
      new Option('--role <role>', 'what the machine becomes')
        .choices(['InitControlPlane', 'JoinControlPlane', 'Worker'])
        .default('InitControlPlane'),
    )
    .addHelpText('after', '\nExample:\n  machineadm example --role Worker > bootstrap.yaml')
    .action(async (options: { role: Role }) => done(await (await import('./example.ts')).example(options)));

  program
    .command('schema')
    .description('print the JSON Schema of the document, for editors')
    .addHelpText('after', '\nExample:\n  machineadm schema > machineadm.schema.json')
    .action(async () => done(await (await import('./schema.ts')).schema()));

  program
    .command('explain')
    .description('tell what a field of the document is for, its type, default and example')
    .argument('[field]', 'its path, such as kubernetes.join or reporting.sinks.Webhook', '')
    .option('--recursive', 'list the names of all fields below it')
    .addHelpText('after', '\nExample:\n  machineadm explain host.files')
    .action(async (field: string, options: ExplainOptions) =>
      done(await (await import('./explain.ts')).explain(field, options)),
    );
}
