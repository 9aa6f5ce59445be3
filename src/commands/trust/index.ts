import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import type { AddCommand } from '../../cli/command-tree.ts';
import { keyOption, memoryOption, outputOption, several, trustDirectoryOption } from '../../cli/options.ts';
import type { TrustCheckOptions, TrustCreateOptions, TrustSignOptions } from './run.ts';

/** `trust`: the signed root, which names the keys that a machine trusts. */
export const addTrust: AddCommand = (program, done) => {
  const trust = program
    .command('trust')
    .description('create, sign, check and install the signed root that names the trusted keys')
    .addHelpText('after', '\nExample:\n  machineadm trust check');
  trust
    .command('create')
    .description('write a root, or the one that follows another, without signatures')
    .argument('<file>', 'the root to write')
    .option('--name <name>', 'the name of the publisher, the same in all versions')
    .option('--follows <file>', 'the root before it')
    .addOption(keyOption('a public key that may sign lists of releases and directories; repeat for several'))
    .option('--threshold <number>', 'how many of these must sign a list, from 1 to 9')
    .option('--root-key <file>', 'a public key that may sign the next root; default: those of --key', several)
    .option('--root-threshold <number>', 'how many of these must sign the next root, from 1 to 9')
    .option(
      '--expires <duration>',
      'refuse everything after that time, such as 365d; default: never, or as long as the root before it',
    )
    .addHelpText(
      'after',
      '\nWhat is not given is as in the root before it.\n\nExamples:\n  machineadm trust create --name example.com --key a.pem --key b.pem --root-threshold 2 1.json\n  machineadm trust create --follows 1.json --key b.pem --key c.pem 2.json',
    )
    .action(async (path: string, options: TrustCreateOptions) =>
      done(await (await import('./run.ts')).trustCreate(path, options)),
    );
  trust
    .command('sign')
    .description('add a signature to a root; each person does it where their key is')
    .argument('<file>', 'the root to sign')
    .option('--private-key <file>', 'sign with this ECDSA P-256 key (PEM)')
    .option('--bytes <file>', 'write the bytes that a KMS or a token must sign into this file')
    .option('--signature <file>', 'add this detached signature of the bytes (DER)')
    .addOption(keyOption('the public key of --signature, where it is not in the root; repeat for several'))
    .addHelpText('after', '\nExample:\n  machineadm trust sign --private-key alice.pem 1.json')
    .action(async (path: string, options: TrustSignOptions) =>
      done(await (await import('./run.ts')).trustSign(path, options)),
    );
  trust
    .command('check')
    .description('verify the signatures of a root; without a file, show what this machine trusts')
    .argument('[file]', 'the root to verify')
    .option('--follows <file>', 'the root before it')
    .addOption(trustDirectoryOption())
    .addOption(memoryOption())
    .addOption(outputOption())
    .addHelpText(
      'after',
      `\nExits with ${exitCode('VerificationRefused')} when a root is refused.\n\nExample:\n  machineadm trust check --follows 1.json 2.json`,
    )
    .action(async (path: string | undefined, options: TrustCheckOptions) =>
      done(await (await import('./run.ts')).trustCheck(path, options)),
    );
  trust
    .command('install')
    .description('trust a root on this machine: the first one, or the one that follows the trusted one')
    .argument('<file...>', 'roots, in the order of their versions')
    .addOption(trustDirectoryOption())
    .addOption(memoryOption())
    .addHelpText(
      'after',
      `\nExits with ${exitCode('VerificationRefused')} when a root is refused; nothing is changed then.\n\nExample:\n  machineadm trust install 2.json 3.json`,
    )
    .action(async (paths: readonly string[], options: { readonly trustDirectory: string; readonly memory?: string }) =>
      done(await (await import('./run.ts')).trustInstall(paths, options)),
    );
};
