import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import type { AddCommand } from '../../cli/command-tree.ts';
import { addDocuments, outputOption } from '../../cli/options.ts';
import type { DoctorOptions } from './run.ts';

export const addDoctor: AddCommand = (program, done) => {
  const doctor = program
    .command('doctor')
    .description('check whether a bootstrap can succeed on this machine, or whether the node works; changes nothing')
    .addOption(outputOption('junit'));
  addDocuments(doctor)
    .addHelpText(
      'after',
      `\nExits with ${exitCode('DifferencesFound')} when a check fails.\n\nExample:\n  machineadm doctor -f bootstrap.yaml`,
    )
    .action(async (_, options: DoctorOptions) => done(await (await import('./run.ts')).doctor(options)));
};
