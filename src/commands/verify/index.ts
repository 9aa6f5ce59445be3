import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import type { AddCommand } from '../../cli/command-tree.ts';
import { addInputs, keyOption, memoryOption, outputOption, trustDirectoryOption } from '../../cli/options.ts';
import type { VerifyOptions } from './run.ts';

export const addVerify: AddCommand = (program, done) => {
  const verify = program
    .command('verify')
    .description('verify that files are those that their publisher signed; changes nothing')
    .option('--sha256 <digest>', 'the required digest of the one file')
    .option('--signature <file>', 'a detached signature of the one file (DER, as from openssl and cosign)')
    .option('--bundle <file>', 'a Sigstore bundle v0.3 for the one file')
    .option('--list <file>', 'a SHA256SUMS with its signature in the same directory; default: the one beside each file')
    .option('--release <release>', 'the release that the list must name')
    .addOption(keyOption('a public key (PEM, ECDSA P-256) to trust; repeat for several'))
    .addOption(trustDirectoryOption())
    .addOption(memoryOption())
    .addOption(outputOption());
  addInputs(verify, {
    property: 'file',
    noun: 'file',
    description: 'a program, an archive or a document',
    required: true,
  })
    .addHelpText(
      'after',
      `\nExits with ${exitCode('VerificationRefused')} when a file is refused.\n\nExamples:\n  machineadm verify --key publisher.pem release/1.4.0/machineadm-1.4.0-linux-amd64.gz\n  machineadm verify --list /mnt/release/1.4.0/SHA256SUMS /usr/local/bin/machineadm`,
    )
    .action(async (_, options: VerifyOptions) =>
      done(await (await import('./run.ts')).verifyCommand(options.file, options)),
    );
};
