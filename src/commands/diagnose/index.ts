import type { AddCommand } from '../../cli/command-tree.ts';
import { addInputs, outputOption } from '../../cli/options.ts';
import type { DiagnoseOptions } from './run.ts';

export const addDiagnose: AddCommand = (program, done) => {
  const diagnose = program
    .command('diagnose')
    .description('name the cause of a failed bootstrap, on this machine or from saved logs; changes nothing')
    .option('--kubeadm-exit-code <number>', 'the exit code of kubeadm, if you know it')
    .addOption(outputOption());
  addInputs(diagnose, {
    property: 'log',
    noun: 'log',
    description:
      'a console, cloud-init-output.log, journal (short or JSON), container or kubeadm log, or - for stdin; repeat for several of one machine',
    former: '--log <file>',
  })
    .addHelpText(
      'after',
      '\nExamples:\n  machineadm diagnose\n  machineadm diagnose -f /var/log/cloud-init-output.log -o json',
    )
    .action(async (_, options: DiagnoseOptions) => done(await (await import('./run.ts')).diagnose(options)));
};
