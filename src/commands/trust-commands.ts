import { exitCode } from '@machineadm/document/exit-codes.ts';
import { Option } from 'commander';
import type { CommandTable } from '../cli/command-tree.ts';
import {
  addInputs,
  formerly,
  keyOption,
  memoryOption,
  outputOption,
  several,
  timeoutOption,
  trustDirectoryOption,
} from '../cli/options.ts';
import type { FetchOptions } from './fetch/run.ts';
import type { VerifyOptions } from './verify/run.ts';

/** Adds `fetch` and `verify`: how releases, documents and image archives reach a machine and are verified. */
export const TRUST_COMMANDS: CommandTable = {
  verify(program, done) {
    const verify = program
      .command('verify')
      .description('verify that files are those that their publisher signed; changes nothing')
      .option('--sha256 <digest>', 'the required digest of the one file')
      .option('--signature <file>', 'a detached signature of the one file (DER, as from openssl and cosign)')
      .option('--bundle <file>', 'a Sigstore bundle v0.3 for the one file')
      .option(
        '--list <file>',
        'a SHA256SUMS with its signature in the same directory; default: the one beside each file',
      )
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
        done(await (await import('./verify/run.ts')).verifyCommand(options.file, options)),
      );
  },

  fetch: (program, done) => {
    program
      .command('fetch')
      .description('download a release, documents or archives of images; keeps only verified files')
      .argument(
        '[name...]',
        'files below each location, verified by the signed SHA256SUMS beside them; NAME/ is all that it lists',
      )
      .addOption(
        new Option('--from <location>', 'https://…, http://…, file:///… or a directory; repeat in order of preference')
          .argParser(several)
          .makeOptionMandatory(),
      )
      .option('--output-dir <directory>', 'the directory to write to; a release gets a subdirectory for its version')
      .addOption(formerly('--to <directory>', 'outputDir'))
      .option('--release <release>', 'fetch this release')
      .option(
        '--platform <platform>',
        'only archives and packages for this platform, such as linux-amd64; repeat for several',
        several,
      )
      .option('--sha256 <digest>', 'the digest of the one file, which then needs no signature')
      .addOption(keyOption('a public key (PEM, ECDSA P-256) to trust; repeat for several'))
      .addOption(trustDirectoryOption())
      .addOption(memoryOption())
      .option('--ca <file>', "certificates (PEM) to trust beside the system's; repeat for several", several)
      .option('--authorization <location=file>', 'a file with the Authorization header for an https location', several)
      .option('--proxy <url>', 'the proxy for all locations')
      .addOption(timeoutOption('all attempts together').default('15m'))
      .addOption(formerly('--deadline <duration>', 'timeout'))
      .addOption(outputOption())
      .addHelpText(
        'after',
        '\nExamples:\n  machineadm fetch --release 1.4.0 --from https://mirror.example.com/machineadm --output-dir /srv/machineadm --key publisher.pem\n  machineadm fetch images/kubernetes.tar --from file:///mnt/usb --output-dir /opt/images --key site.pem',
      )
      .action(async (names: readonly string[], options: FetchOptions) =>
        done(await (await import('./fetch/run.ts')).fetchCommand(names, options)),
      );
  },
};
