import type { AddCommand } from '../../cli/command-tree.ts';
import type { ExplainOptions } from './run.ts';

export const addExplain: AddCommand = (program, done) => {
  program
    .command('explain')
    .description('explain a field of the document: type, default, values, what it changes on the machine')
    .argument('[field]', 'its path, such as kubernetes.join or reporting.sinks.Webhook', '')
    .option('--recursive', 'list the names of all fields in it')
    .addHelpText('after', '\nExample:\n  machineadm explain host.files')
    .action(async (field: string, options: ExplainOptions) =>
      done(await (await import('./run.ts')).explain(field, options)),
    );
};
