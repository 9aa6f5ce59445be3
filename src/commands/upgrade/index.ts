import type { AddCommand } from '../../cli/command-tree.ts';
import {
  addDocuments,
  insecureDocumentOption,
  jsonStreamOption,
  outputOption,
  sinkOption,
  timeoutOption,
} from '../../cli/options.ts';
import type { UpgradeOptions } from './run.ts';

export const addUpgrade: AddCommand = (program, done) => {
  const upgrade = program
    .command('upgrade')
    .description('upgrade Kubernetes on this node, renew its certificates and change its kubelet, as its document says')
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
    .option('--resume', 'only resume a run that a reboot, a kill or a signal interrupted; otherwise do nothing')
    .addOption(jsonStreamOption())
    .addOption(timeoutOption('the whole run'));
  addDocuments(upgrade, 'required')
    .addHelpText(
      'after',
      '\nExamples:\n  machineadm upgrade -f /etc/machineadm/bootstrap.yaml --dry-run\n  machineadm upgrade -f /etc/machineadm/bootstrap.yaml --drained    on a worker',
    )
    .action(async (_, options: UpgradeOptions) => done(await (await import('./run.ts')).upgrade(options)));
};
