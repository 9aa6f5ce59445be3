import type { AddCommand } from '../../cli/command-tree.ts';
import { addDocuments, outputOption } from '../../cli/options.ts';
import type { RenderOptions } from './kubeadm.ts';

export const addRender: AddCommand = (program, done) => {
  const render = program
    .command('render')
    .description('print the configuration of a bootstrapper')
    .usage('[kubeadm] [options] [document...]')
    .addHelpText('after', '\nExample:\n  machineadm render -f bootstrap.yaml');
  const kubeadm = render
    .command('kubeadm')
    .description('print the kubeadm configuration, without secrets; changes nothing')
    .option('--kubeadm-version <version>', 'the version of the kubeadm that reads it; default: kubernetes.version')
    .addOption(outputOption());
  addDocuments(kubeadm, 'required')
    .addHelpText('after', '\nExample:\n  machineadm render kubeadm --kubeadm-version v1.31.4 -f bootstrap.yaml')
    .action(async (_, options: RenderOptions) =>
      done(await (await import('./kubeadm.ts')).renderKubeadmCommand(options)),
    );
};
