import type { AddCommand } from '../../cli/command-tree.ts';
import {
  addDocuments,
  addInvoker,
  type DocumentOptions,
  insecureDocumentOption,
  jsonStreamOption,
  outputOption,
  sinkOption,
  timeoutOption,
} from '../../cli/options.ts';
import type { ProvisionOptions } from './run.ts';

export const addProvision: AddCommand = (program, done) => {
  const provision = program
    .command('provision')
    .description('make this machine a node: prepare the host, bootstrap, prove that it works, report')
    .addOption(insecureDocumentOption())
    .addOption(outputOption())
    .addOption(sinkOption())
    .option('--dry-run', 'show what would be changed, as machineadm plan does; changes nothing')
    .option('--resume', 'only resume a run that a reboot, a kill or a signal interrupted; otherwise do nothing')
    .option(
      '--boot',
      'for a unit that runs at every boot: do nothing if the document was already applied (apply: Once)',
    )
    .addOption(jsonStreamOption())
    .addOption(timeoutOption('the whole run'));
  addInvoker(addDocuments(provision, 'required'))
    .addHelpText('after', '\nExample:\n  machineadm provision -f /etc/machineadm/bootstrap.yaml')
    .action(async (_, { dryRun, ...options }: DocumentOptions & ProvisionOptions & { dryRun?: true }) =>
      done(
        dryRun === true
          ? await (await import('../plan/run.ts')).plan(options)
          : await (await import('./run.ts')).provision('provision', options),
      ),
    );
};
