import { type Command, Option } from 'commander';
import { IGNITION_VERSIONS } from '../carriers/carrier.ts';
import { CARRIERS } from '../carriers/carriers.ts';
import { profileNames } from '../carriers/profiles.ts';
import { documentOption } from './options.ts';
import type { WrapCommandOptions } from './wrap.ts';

/** What `wrap` and `convert --wrap` have in common. */
export function profileOption(): Option {
  return new Option(
    '--profile <provider>',
    'what a provider of Cluster API needs; user data that it does not take is refused',
  ).choices(profileNames());
}

export function binaryOption(): Option {
  return new Option('--binary <path>', 'where the image has machineadm (default: the usual place of the format)');
}

export function ignitionVersionOption(): Option {
  return new Option('--ignition-version <version>', 'of the configuration (default: 3.3.0)').choices(IGNITION_VERSIONS);
}

export function formats(): readonly string[] {
  return Object.keys(CARRIERS);
}

/** The command `wrap` and its options. */
export function addWrap(program: Command, done: (status: number) => void): void {
  program
    .command('wrap')
    .description('put a document into user data for the first boot of a machine; needs no root and no network')
    .addOption(documentOption())
    .addOption(new Option('--format <format>', 'what the machine boots with').choices(formats()).makeOptionMandatory())
    .addOption(profileOption())
    .addOption(binaryOption())
    .addOption(ignitionVersionOption())
    .option('--secret <name>', 'write a bootstrap data Secret of this name that holds the user data, for Cluster API')
    .option('--to <file>', 'write it there, 0600, instead of to standard output')
    .addHelpText(
      'after',
      '\nExamples:\n  machineadm wrap -d bootstrap.yaml --format cloud-init --profile capa > user-data\n' +
        '  machineadm wrap -d bootstrap.yaml --format ignition --binary /opt/bin/machineadm --to config.ign',
    )
    .action(async (options: WrapCommandOptions) => done(await (await import('./wrap.ts')).wrapCommand(options)));
}
