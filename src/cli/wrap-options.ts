import { IGNITION_VERSIONS } from '@machineadm/user-data/carrier.ts';
import { CARRIERS } from '@machineadm/user-data/carriers.ts';
import { profileNames } from '@machineadm/user-data/profiles.ts';
import { type Command, Option } from 'commander';
import { addDocuments, formerly, several } from './options.ts';
import type { WrapCommandOptions } from './wrap.ts';

/** The values of `--format` and of `convert --wrap`. */
export function formats(): readonly string[] {
  return Object.keys(CARRIERS);
}

/** Adds the options that `wrap` and `convert --wrap` share. */
export function addCarrierOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--provider <provider>',
        'for this infrastructure provider of Cluster API; user data that it does not accept is refused',
      ).choices(profileNames()),
    )
    .addOption(formerly('--profile <provider>', 'provider').choices(profileNames()))
    .option(
      '--binary <path>',
      'where the image has machineadm (default: where this program is installed, else the usual place of the format)',
    )
    .addOption(
      new Option(
        '--fetch <location>',
        'machineadm is not in the image: the machine downloads and verifies it; https://…, http://… or file:///…, repeat in order',
      ).argParser(several),
    )
    .option('--release-manifest <file>', 'manifest.json of the release to fetch: its digests are pinned')
    .option('--release <release>', 'without a manifest: the release to fetch, verified on the machine by --key')
    .addOption(
      new Option(
        '--key <file>',
        'a public key (PEM, ECDSA P-256) that signs releases: the manifest is verified by it, and without one the machine does; repeat for several',
      ).argParser(several),
    )
    .option('--ca <file>', 'certificates (PEM) that https locations must be signed by, and by no other')
    .addOption(
      new Option(
        '--authorization <location=file>',
        'a file of the machine with the Authorization header for this location',
      ).argParser(several),
    )
    .addOption(
      new Option('--ignition-version <version>', 'of the configuration (default: 3.3.0)').choices(IGNITION_VERSIONS),
    );
}

/** Adds `wrap` and its options. */
export function addWrap(program: Command, done: (status: number) => void): void {
  const command = program
    .command('wrap')
    .description('put a document into user data for the first boot of a machine; needs no root and no network')
    .addOption(new Option('--format <format>', 'what the machine boots with').choices(formats()).makeOptionMandatory());
  addDocuments(addCarrierOptions(command), 'required')
    .option('--secret <name>', 'write a bootstrap data Secret of this name that holds the user data, for Cluster API')
    .option('--output-file <file>', 'write it there, mode 0600, instead of to stdout')
    .addOption(formerly('--to <file>', 'outputFile'))
    .addHelpText(
      'after',
      '\nExamples:\n  machineadm wrap -f bootstrap.yaml --format cloud-init --provider capa > user-data\n' +
        '  machineadm wrap -f bootstrap.yaml --format ignition --fetch https://mirror.example --release-manifest manifest.json --key publisher.pem',
    )
    .action(async (_, options: WrapCommandOptions) => done(await (await import('./wrap.ts')).wrapCommand(options)));
}
