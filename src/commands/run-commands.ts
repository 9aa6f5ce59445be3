import { exitCode } from '@machineadm/document/exit-codes.ts';
import type { Command } from 'commander';
import type { CommandTable } from '../cli/command-tree.ts';
import {
  addDocuments,
  addInvoker,
  type DocumentOptions,
  insecureDocumentOption,
  jsonStreamOption,
  outputOption,
  sinkOption,
  timeoutOption,
} from '../cli/options.ts';
import type { PlanCommandOptions } from './plan/run.ts';
import type { ProvisionOptions } from './provision/run.ts';
import type { ResetOptions } from './reset/run.ts';
import type { UpgradeFlags } from './upgrade/options.ts';

/** Adds the commands that change this machine, and `plan`, which shows what they would change. */
export const RUN_COMMANDS: CommandTable = {
  plan(program, done) {
    const plan = program
      .command('plan')
      .description('show what provision would change here; changes nothing')
      .addOption(insecureDocumentOption())
      .addOption(outputOption())
      .option('--prepare', 'plan for prepare instead of provision')
      .option('--diff', 'show how files would change, the content of new ones, and the commands of hooks')
      .option('--ids', 'show the id of each change, as in -o json and in the status')
      .option('--exit-code', `exit with ${exitCode('DifferencesFound')} when there is something to change`);
    const refused = `Exits with ${exitCode('Refused')} if provision would refuse to start.`;
    addDocuments(plan, 'required')
      .addHelpText(
        'after',
        `\n+ add, ~ change, - remove, > run, ↻ restart; -v shows where the document asks for each.\n${refused}\n\nExample:\n  machineadm plan -f bootstrap.yaml --diff`,
      )
      .action(async (_, options: PlanCommandOptions) => done(await (await import('./plan/run.ts')).plan(options)));
  },

  provision(program, done) {
    const provision = program
      .command('provision')
      .description('make this machine a node: prepare the host, bootstrap, prove that it works, report')
      .addOption(insecureDocumentOption())
      .addOption(outputOption())
      .addOption(sinkOption())
      .option('--dry-run', 'show what would be changed, as machineadm plan does; changes nothing')
      .option('--resume', 'only resume a run that a reboot, a kill or a signal interrupted; otherwise do nothing')
      .option(
        '--boot',
        'for a unit that runs at every boot: do nothing if the document was already applied (apply: Once)',
      );
    addWatching(provision);
    addInvoker(addDocuments(provision, 'required'))
      .addHelpText('after', '\nExample:\n  machineadm provision -f /etc/machineadm/bootstrap.yaml')
      .action(async (_, { dryRun, ...options }: DocumentOptions & ProvisionOptions & { dryRun?: true }) =>
        done(
          dryRun === true
            ? await (await import('./plan/run.ts')).plan(options)
            : await (await import('./provision/run.ts')).provision('provision', options),
        ),
      );
  },

  prepare(program, done) {
    const prepare = program
      .command('prepare')
      .description('make only the changes that belong in an image (a bake)')
      .addOption(insecureDocumentOption())
      .addOption(outputOption())
      .option('--dry-run', 'show what would be changed, as machineadm plan --prepare does; changes nothing')
      .option(
        '--verify',
        'change nothing; list differences from the document, and everything in the image that belongs to one machine',
      );
    addWatching(prepare);
    addDocuments(prepare, 'required')
      .addHelpText(
        'after',
        '\nExamples:\n  machineadm prepare -f base.yaml\n  machineadm prepare --verify -f base.yaml    as the last step of the bake',
      )
      .action(async (_, { verify, dryRun, ...options }: DocumentOptions & ProvisionOptions & PrepareModes) => {
        if (verify === true) done(await (await import('./prepare/verify-command.ts')).verifyImageCommand(options));
        else if (dryRun === true) done(await (await import('./plan/run.ts')).plan({ ...options, prepare: true }));
        else done(await (await import('./provision/run.ts')).provision('prepare', options));
      });
  },

  upgrade(program, done) {
    const upgrade = program
      .command('upgrade')
      .description(
        'upgrade Kubernetes on this node, renew its certificates and change its kubelet, as its document says',
      )
      .addOption(insecureDocumentOption())
      .addOption(outputOption())
      .addOption(sinkOption())
      .option('--dry-run', 'show what would be changed, with everything that is in the way; changes nothing')
      .option('--drained', 'the node is drained already, or its pods may stay: evict nothing')
      .option('--kubeconfig <file>', 'on a worker: with which its pods are evicted')
      .option('--delete-emptydir-data', 'evict pods that lose the content of an emptyDir volume, too')
      .option('--overwrite-manifests', 'let kubeadm undo edits of static pods')
      .option(
        '--ignore-preflight-errors <names>',
        "checks of kubeadm upgrade to skip, as in kubeadm; in addition to the document's",
        (names: string) => names.split(',').filter((name) => name !== ''),
      )
      .option('--resume', 'only resume a run that a reboot, a kill or a signal interrupted; otherwise do nothing');
    addWatching(upgrade);
    addDocuments(upgrade, 'required')
      .addHelpText(
        'after',
        '\nExamples:\n  machineadm upgrade -f /etc/machineadm/bootstrap.yaml --dry-run\n  machineadm upgrade -f /etc/machineadm/bootstrap.yaml --drained    on a worker',
      )
      .action(
        async (_, { dryRun, ...given }: DocumentOptions & ProvisionOptions & UpgradeFlags & { dryRun?: true }) => {
          const { upgradeOptions } = await import('./upgrade/options.ts');
          const options = { ...given, upgrade: upgradeOptions(given) };
          done(
            dryRun === true
              ? await (await import('./plan/run.ts')).plan(options)
              : await (await import('./provision/run.ts')).provision('upgrade', options),
          );
        },
      );
  },

  reset(program, done) {
    program
      .command('reset')
      .description('remove the node, and restore the machine to its state before the first run')
      .addOption(outputOption())
      .option('--document <name>', 'undo only what this document asked for, and no other document')
      .option('--leave-files', 'remove only the node')
      .option('--dry-run', 'show what would be changed; changes nothing')
      .option('--yes', 'do not ask for confirmation')
      .addHelpText('after', '\nExample:\n  machineadm reset --dry-run')
      .action(async (options: ResetOptions) => done(await (await import('./reset/run.ts')).resetCommand(options)));
  },
};

/** Adds the options that say how a run is watched, and for how long. */
function addWatching(command: Command): void {
  command.addOption(jsonStreamOption()).addOption(timeoutOption('the whole run'));
}

interface PrepareModes {
  readonly verify?: true;
  readonly dryRun?: true;
}
