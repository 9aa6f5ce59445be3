import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import type { AddCommand } from '../../cli/command-tree.ts';
import { formerly, optionFor, outputOption } from '../../cli/options.ts';
import type { ConformanceOptions } from './run.ts';

const CONFORMANCE_PROFILES = ['host', 'kubernetes', 'windows'];

export const addConformance: AddCommand = (program, done) => {
  program
    .command('conformance')
    .description('check this machine or image against the contract for operating systems; changes nothing')
    .option('--root <directory>', 'check the image in this directory, of any architecture; only its files are read')
    .addOption(
      optionFor(
        'profile',
        '--as <profile>',
        'the profile to check; default: kubernetes if any of its programs is installed',
      ).choices(CONFORMANCE_PROFILES),
    )
    .addOption(formerly('--profile <profile>', 'profile').choices(CONFORMANCE_PROFILES))
    .addOption(outputOption('junit'))
    .addHelpText(
      'after',
      `\nExits with ${exitCode('DifferencesFound')} where a MUST is broken, and with ${exitCode('NotProven')} where none is broken and one could not be decided.\n\nExamples:\n  machineadm conformance -o json\n  machineadm conformance --root /mnt/image --as kubernetes -o junit`,
    )
    .action(async (options: ConformanceOptions) => done(await (await import('./run.ts')).conformanceCommand(options)));
};
