import { type Command, Option } from 'commander';
import { IGNITION_VERSIONS } from '../carriers/carrier.ts';
import { CARRIERS } from '../carriers/carriers.ts';
import { profileNames } from '../carriers/profiles.ts';
import { documentOption } from './options.ts';
import type { WrapCommandOptions } from './wrap.ts';

/** What `--format` takes, and `convert --wrap`. */
export function formats(): readonly string[] {
  return Object.keys(CARRIERS);
}

/** How a carrier is made: what `wrap` and `convert --wrap` have in common. */
export function addCarrierOptions(command: Command): Command {
  const several = (value: string, earlier: readonly string[] | undefined): string[] => [...(earlier ?? []), value];
  return command
    .addOption(
      new Option(
        '--profile <provider>',
        'what this provider of Cluster API needs; user data that it does not take is refused',
      ).choices(profileNames()),
    )
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
    .option('--release <version>', 'without a manifest: the release to fetch, verified on the machine by --key')
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

/** The command `wrap` and its options. */
export function addWrap(program: Command, done: (status: number) => void): void {
  const command = program
    .command('wrap')
    .description('put a document into user data for the first boot of a machine; needs no root and no network')
    .addOption(documentOption())
    .addOption(new Option('--format <format>', 'what the machine boots with').choices(formats()).makeOptionMandatory());
  addCarrierOptions(command)
    .option('--secret <name>', 'write a bootstrap data Secret of this name that holds the user data, for Cluster API')
    .option('--to <file>', 'write it there, 0600, instead of to standard output')
    .addHelpText(
      'after',
      '\nExamples:\n  machineadm wrap -d bootstrap.yaml --format cloud-init --profile capa > user-data\n' +
        '  machineadm wrap -d bootstrap.yaml --format ignition --fetch https://mirror.example --release-manifest manifest.json --key publisher.pem',
    )
    .action(async (options: WrapCommandOptions) => done(await (await import('./wrap.ts')).wrapCommand(options)));
}
