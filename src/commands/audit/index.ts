import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import type { AddCommand } from '../../cli/command-tree.ts';
import { addDocuments, insecureDocumentOption, outputOption, several } from '../../cli/options.ts';
import type { AuditOptions } from './run.ts';

export const addAudit: AddCommand = (program, done) => {
  const audit = program
    .command('audit')
    .description('check this machine against security benchmarks, or for secrets left on it; changes nothing')
    .addOption(insecureDocumentOption())
    .addOption(outputOption('junit'))
    .option(
      '--profile <benchmark>',
      'a benchmark: cis-level-1, cis-level-2, stig, cis-os; repeat for several; default: those the machine was provisioned with',
      several,
    )
    .option('--residue', 'look for secrets of the document that cloud-init, Ignition and other tools left behind')
    .option('--scrub', 'with --residue: overwrite them if that breaks nothing');
  addDocuments(audit)
    .addHelpText(
      'after',
      `\nExits with ${exitCode('DifferencesFound')} while a control fails or a secret is left.\n\nExamples:\n  machineadm audit --profile cis-level-1\n  machineadm audit -f bootstrap.yaml -o json\n  machineadm audit --residue -f bootstrap.yaml\n  machineadm audit --residue --scrub -f bootstrap.yaml`,
    )
    .action(async (_, options: AuditOptions) => done(await (await import('./run.ts')).audit(options)));
};
