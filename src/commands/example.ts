import type { Role } from '@machineadm/document/model/index.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { Option } from 'commander';
import type { AddCommand } from '../cli/command-tree.ts';
import { printText } from '../cli/output.ts';

export const addExample: AddCommand = (program, done) => {
  program
    .command('example')
    .description('print an annotated document to start from')
    .addOption(
      new Option('--role <role>', 'the role of the machine')
        .choices(['InitControlPlane', 'JoinControlPlane', 'Worker'])
        .default('InitControlPlane'),
    )
    .addHelpText('after', '\nExample:\n  machineadm example --role Worker > bootstrap.yaml')
    .action(async ({ role }: { readonly role: Role }) => {
      const { exampleDocument } = await import('@machineadm/document/versions/example.ts');
      printText(exampleDocument(role));
      done(exitCode('Success'));
    });
};
