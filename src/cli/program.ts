import { conventionalExitCode, exitCode } from '@machineadm/document/exit-codes.ts';
import { Command, CommanderError } from 'commander';
import { buildInfo } from './build-info.ts';
import { addConformanceCommand } from './conformance-command.ts';
import { addConvert } from './convert-options.ts';
import { addDocumentCommands } from './document-commands.ts';
import { EXAMPLES } from './examples.ts';
import {
  type AuditOptions,
  conventionIn,
  type DocumentOptions,
  documentOption,
  exitCodesOption,
  heedInsecureDocument,
  insecureDocumentOption,
  outputOption,
  sinkOption,
  wantsJson,
} from './options.ts';
import { type OutputFormat, printError } from './output.ts';
import type { ProvisionOptions } from './provision.ts';
import { addReportCommands } from './report-commands.ts';
import { addTrustCommands } from './trust-commands.ts';
import { addWrap } from './wrap-options.ts';

/** Runs the command line and gives the exit status. Never throws. */
export async function runProgram(argv: readonly string[]): Promise<number> {
  const outcome: { status: number } = { status: exitCode('Success') };
  const program = createProgram((status) => {
    outcome.status = status;
  });
  try {
    await program.parseAsync(argv);
    return outcome.status;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCode('Success');
    const code =
      error instanceof CommanderError ? exitCode('Usage') : printError(error, wantsJson(argv) ? 'json' : 'text');
    return conventionalExitCode(conventionIn(argv), code, false);
  }
}

/**
 * The command line as commander holds it: also the source of the man page and of shell completion.
 * @param done called with the exit status of the command that ran
 */
export function createProgram(done: (status: number) => void): Command {
  const program = new Command('machineadm')
    .description(
      'Turns a machine that has an operating system into a Kubernetes node, and tells the truth about how it went.',
    )
    .version(buildInfo().version, '-V, --version', 'print the version')
    .helpCommand('help [command]', 'show help for a command')
    .exitOverride()
    .showHelpAfterError('(machineadm help shows what there is)')
    .configureOutput({ getOutHasColors: () => false, getErrHasColors: () => false })
    .addHelpText('after', EXAMPLES)
    .hook('preAction', heedInsecureDocument);

  program
    .command('provision')
    .description('make this machine a node: prepare the host, bootstrap, prove that it works, report')
    .addOption(documentOption())
    .addOption(insecureDocumentOption())
    .addOption(outputOption())
    .addOption(sinkOption())
    .option('--resume', 'only go on with a run that a reboot, a kill or a signal cut off; else do nothing')
    .option('--boot', 'for a unit that runs at every boot: do nothing once the document was applied (apply: Once)')
    .addOption(exitCodesOption())
    .addHelpText('after', '\nExample:\n  machineadm provision -d /etc/machineadm/bootstrap.yaml')
    .action(async (options: DocumentOptions & ProvisionOptions) =>
      done(await (await import('./provision.ts')).provision('provision', options)),
    );

  program
    .command('prepare')
    .description('make only the changes that belong into an image (a bake step)')
    .addOption(documentOption())
    .addOption(insecureDocumentOption())
    .addOption(outputOption())
    .option('--verify', 'change nothing: list what does not hold, and what of one machine is in the image')
    .addHelpText(
      'after',
      '\nExamples:\n  machineadm prepare -d base.yaml\n  machineadm prepare --verify -d base.yaml    as the last step of the bake',
    )
    .action(async ({ verify, ...options }: DocumentOptions & { verify?: true }) =>
      done(
        verify === true
          ? await (await import('./verify-image.ts')).verifyImageCommand(options)
          : await (await import('./provision.ts')).provision('prepare', options),
      ),
    );

  program
    .command('plan')
    .description('show what provision would change here; changes nothing')
    .addOption(documentOption())
    .addOption(insecureDocumentOption())
    .addOption(outputOption())
    .option('--prepare', 'plan for prepare instead of provision')
    .option('--diff', 'show how files would change')
    .option('--exit-code', `exit with ${exitCode('DifferencesFound')} when there is something to change`)
    .addHelpText('after', '\nExample:\n  machineadm plan -d bootstrap.yaml --diff')
    .action(async (options: DocumentOptions & { prepare?: true; diff?: true; exitCode?: true }) =>
      done(await (await import('./plan.ts')).plan(options)),
    );

  program
    .command('validate')
    .description('check a document and print every mistake with its place; needs no root and no network')
    .addOption(documentOption())
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nExamples:\n  machineadm validate -d bootstrap.yaml\n  machineadm validate -d base.yaml -d drop-ins/',
    )
    .action(async (options: DocumentOptions) => done(await (await import('./validate.ts')).validate(options)));

  const config = program
    .command('config')
    .description('look at the document')
    .addHelpText('after', '\nExample:\n  machineadm config show -d bootstrap.yaml');
  config
    .command('show')
    .description('print the merged document, without secrets')
    .addOption(documentOption())
    .addOption(outputOption())
    .option('--origin', 'say for each field which source set it')
    .addHelpText('after', '\nExample:\n  machineadm config show --origin -d base.yaml -d site.d/')
    .action(async (options: DocumentOptions & { origin?: true }) =>
      done(await (await import('./config-show.ts')).configShow(options)),
    );

  const images = program
    .command('images')
    .description('the container images of a document')
    .addHelpText('after', '\nExample:\n  machineadm images list -d bootstrap.yaml');
  images
    .command('list')
    .description('print every image that the document needs, to fill a mirror or an archive; asks nobody')
    .addOption(documentOption())
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nExample:\n  machineadm images list -d bootstrap.yaml | while read -r image; do skopeo copy docker://$image docker-archive:...; done',
    )
    .action(async (options: DocumentOptions) => done(await (await import('./images-list.ts')).imagesList(options)));

  const render = program
    .command('render')
    .description('print what would be handed to a bootstrapper')
    .addHelpText('after', '\nExample:\n  machineadm render kubeadm -d bootstrap.yaml');
  render
    .command('kubeadm')
    .description('print the kubeadm configuration, without secrets and without touching anything')
    .addOption(documentOption())
    .option('--kubeadm-version <version>', 'of the kubeadm to render for; default: kubernetes.version')
    .addHelpText('after', '\nExample:\n  machineadm render kubeadm --kubeadm-version v1.31.4 -d bootstrap.yaml')
    .action(async (options: { document: readonly string[]; kubeadmVersion?: string }) =>
      done(await (await import('./render-kubeadm.ts')).renderKubeadmCommand(options)),
    );

  addConvert(program, done);
  addWrap(program, done);

  program
    .command('reset')
    .description('undo what provision made of this machine: the node, and the files that machineadm created')
    .addOption(outputOption())
    .option('--leave-files', 'undo the node only')
    .option('--dry-run', 'show what would be done; changes nothing')
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  machineadm reset --dry-run')
    .action(async (options: { output: OutputFormat; leaveFiles?: true; dryRun?: true; yes?: true }) =>
      done(await (await import('./reset.ts')).resetCommand(options)),
    );

  program
    .command('status')
    .description('tell how the run on this machine goes, or how it ended')
    .addOption(outputOption('html'))
    .option('--wait', "wait for the end of the run, and exit with the run's exit status")
    .option('--timeout <duration>', 'how long to wait', '30m')
    .addHelpText(
      'after',
      '\nExamples:\n  machineadm status --wait --timeout 10m -o json\n  machineadm status -o html > status.html    a page for a ticket',
    )
    .action(async (options: { output: OutputFormat | 'html'; wait?: true; timeout: string }) =>
      done(await (await import('./status.ts')).status(options)),
    );

  program
    .command('timeline')
    .description("show where the time went, from the kernel's boot to the conclusion")
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  machineadm timeline')
    .action(async (options: { output: OutputFormat }) => done(await (await import('./status.ts')).timeline(options)));

  program
    .command('doctor')
    .description('look whether a bootstrap would stand a chance here, before anything failed; changes nothing')
    .addOption(documentOption().makeOptionMandatory(false).conflicts('facts'))
    .option('--facts', 'only show what is known of the machine: system, versions, hardware; needs no root')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `\nExits with ${exitCode('DifferencesFound')} when something stands in the way.\n\nExample:\n  machineadm doctor -d bootstrap.yaml`,
    )
    .action(async (options: { document?: readonly string[]; output: OutputFormat; facts?: true }) =>
      done(await (await import('./doctor.ts')).doctor(options)),
    );

  program
    .command('diagnose')
    .description('name the cause of a failed bootstrap, on this machine or from saved logs; changes nothing')
    .option(
      '--log <file>',
      'a console, cloud-init-output.log, journal (short or JSON), container or kubeadm log, or - ; repeat for several of one machine',
      (file: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), file],
    )
    .option('--exit-code <number>', 'what kubeadm ended with, where it is known')
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nExamples:\n  machineadm diagnose\n  machineadm diagnose --log /var/log/cloud-init-output.log -o json',
    )
    .action(async (options: { log?: readonly string[]; exitCode?: string; output: OutputFormat }) =>
      done(await (await import('./diagnose.ts')).diagnose(options)),
    );

  program
    .command('bundle')
    .description('write what a bug report needs into one file, without secrets; changes nothing else')
    .addOption(documentOption().makeOptionMandatory(false))
    .option('-o, --output <file>', 'where to, or - for standard output', 'machineadm-bundle.tar.gz')
    .addHelpText('after', '\nExample:\n  machineadm bundle -d bootstrap.yaml -o /root/bundle.tar.gz')
    .action(async (options: { document?: readonly string[]; output: string }) =>
      done(await (await import('./bundle.ts')).bundle(options)),
    );

  program
    .command('audit')
    .description('hold this machine against security benchmarks, or look for secrets left on it; changes nothing')
    .addOption(documentOption().makeOptionMandatory(false))
    .addOption(insecureDocumentOption())
    .addOption(outputOption())
    .option(
      '--profile <name>',
      'a benchmark: cis-level-1, cis-level-2, stig, cis-os; repeat for several; default: those the machine was provisioned with',
      (profile: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), profile],
    )
    .option('--residue', 'secrets of the document that cloud-init, Ignition and other tools left behind')
    .option('--scrub', 'with --residue: overwrite them where that breaks nothing')
    .addHelpText(
      'after',
      `\nExits with ${exitCode('DifferencesFound')} while a control fails or something is left.\n\nExamples:\n  machineadm audit --profile cis-level-1\n  machineadm audit -d bootstrap.yaml -o json\n  machineadm audit --residue -d bootstrap.yaml\n  machineadm audit --residue --scrub -d bootstrap.yaml`,
    )
    .action(async (options: AuditOptions) => done(await (await import('./audit.ts')).audit(options)));

  addConformanceCommand(program, done);
  addReportCommands(program, done);

  const sentinel = program
    .command('sentinel')
    .description('the file that tells others of the success')
    .addHelpText('after', '\nExample:\n  machineadm sentinel restore');
  sentinel
    .command('restore')
    .description('put the sentinel back after a reboot, if this very machine was bootstrapped (run by a boot unit)')
    .addHelpText('after', '\nExample:\n  machineadm sentinel restore')
    .action(async () => done(await (await import('./sentinel-restore.ts')).sentinelRestore()));

  const hooks = program
    .command('hooks')
    .description('commands of the document')
    .addHelpText('after', '\nExample:\n  machineadm hooks run early');
  hooks
    .command('run')
    .description(
      'run the hooks that are for every boot, if this very machine was provisioned with such (run by a boot unit)',
    )
    .addArgument(program.createArgument('<phase>', 'which hooks').choices(['early']))
    .addHelpText('after', '\nExample:\n  machineadm hooks run early')
    .action(async () => done(await (await import('./hooks-run.ts')).hooksRun()));

  addTrustCommands(program, done);

  addDocumentCommands(program, done);

  program
    .command('completion')
    .description('print a completion script for a shell')
    .addArgument(program.createArgument('<shell>', 'your shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', '\nExample:\n  machineadm completion bash > /etc/bash_completion.d/machineadm')
    .action(async (shell: 'bash' | 'zsh' | 'fish') =>
      done(await (await import('./completion.ts')).completion(shell, program)),
    );

  program
    .command('version')
    .description('print version, commit, Node and the document versions it reads')
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  machineadm version -o json')
    .action(async (options: { output: OutputFormat }) => done(await (await import('./version.ts')).version(options)));

  return program;
}
