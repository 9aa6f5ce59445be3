import { IGNITION_VERSIONS } from '@machineadm/user-data/carrier.ts';
import { CARRIERS } from '@machineadm/user-data/carriers.ts';
import { profileNames } from '@machineadm/user-data/profiles.ts';
import { Option } from 'commander';
import type { AddCommand } from '../../cli/command-tree.ts';
import { addDocuments, formerly, several, trustDirectoryOption } from '../../cli/options.ts';
import type { WrapCommandOptions } from './run.ts';

export const addWrap: AddCommand = (program, done) => {
  const command = program
    .command('wrap')
    .description('put a document into user data for the first boot of a machine; needs neither root nor a network')
    .addOption(
      new Option('--format <format>', 'the format of the user data')
        .choices(Object.keys(CARRIERS))
        .makeOptionMandatory(),
    )
    .addOption(
      new Option(
        '--provider <provider>',
        'the infrastructure provider of Cluster API; user data that it does not accept is refused',
      ).choices(profileNames()),
    )
    .addOption(formerly('--profile <provider>', 'provider').choices(profileNames()))
    .option(
      '--binary <path>',
      'the path of machineadm in the image (default: where this program is installed, or else the usual path of the format)',
    )
    .addOption(
      new Option(
        '--fetch <location>',
        'download machineadm from here at the first boot, and verify it; https://…, http://… or file:///…; repeat in order of preference',
      ).argParser(several),
    )
    .option('--release-manifest <file>', 'manifest.json of the release to download; its digests are pinned')
    .option('--release <release>', 'the release to download, without a manifest: the machine verifies it with --key')
    .addOption(
      new Option(
        '--key <file>',
        'a public key (PEM, ECDSA P-256) of releases; it verifies the manifest, or without one the release on the machine; repeat for several',
      ).argParser(several),
    )
    .addOption(trustDirectoryOption())
    .option('--ca <file>', 'the only certificate authorities (PEM) for https locations')
    .addOption(
      new Option(
        '--authorization <location=file>',
        'a file on the machine with the Authorization header for this location',
      ).argParser(several),
    )
    .addOption(
      new Option('--ignition-version <version>', 'the version of the Ignition config (default: 3.3.0)').choices(
        IGNITION_VERSIONS,
      ),
    );
  addDocuments(command, 'required')
    .option('--secret <name>', 'write a bootstrap data Secret of this name with the user data, for Cluster API')
    .option('--output-file <file>', 'write the result to this file, mode 0600, instead of to stdout')
    .addOption(formerly('--to <file>', 'outputFile'))
    .addHelpText(
      'after',
      '\nExamples:\n  machineadm wrap -f bootstrap.yaml --format cloud-init --provider capa > user-data\n' +
        '  machineadm wrap -f bootstrap.yaml --format ignition --fetch https://mirror.example --release-manifest manifest.json --key publisher.pem',
    )
    .action(async (_, options: WrapCommandOptions) => done(await (await import('./run.ts')).wrapCommand(options)));
};
