import { Option } from 'commander';
import type { AddCommand } from '../../cli/command-tree.ts';
import {
  formerly,
  keyOption,
  memoryOption,
  outputOption,
  several,
  timeoutOption,
  trustDirectoryOption,
} from '../../cli/options.ts';
import type { FetchOptions } from './run.ts';

export const addFetch: AddCommand = (program, done) => {
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
      done(await (await import('./run.ts')).fetchCommand(names, options)),
    );
};
