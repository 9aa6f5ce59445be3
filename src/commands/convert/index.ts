import { Option } from 'commander';
import type { AddCommand } from '../../cli/command-tree.ts';
import { addInputs, several } from '../../cli/options.ts';
import type { ConvertCommandOptions } from './run.ts';

export const addConvert: AddCommand = (program, done) => {
  const command = program
    .command('convert')
    .description("convert Cluster API's kubeadm objects, user data or kubeadm's own YAML to documents")
    .addOption(
      new Option('--role <role>', 'the role of the machine, if the input leaves it open').choices([
        'InitControlPlane',
        'JoinControlPlane',
        'Worker',
      ]),
    )
    .option('--kubernetes-version <version>', 'the version of Kubernetes, if the input has none: v1.35.2')
    .option('--control-plane-version <version>', 'the version for files with contentFormat Template')
    .option('--endpoint <host:port>', 'the address of the API server, if the input has no Cluster')
    .addOption(
      new Option('--ca-cert-hash <hash>', "a hash of the cluster's CA: sha256:…; repeat for several").argParser(
        several,
      ),
    )
    .option('--inline-secrets', 'write the values of Secrets into the document instead of references')
    .option('--references <directory>', 'the directory of referenced secrets on the machine (default: /run/secrets)')
    .option('--standalone', 'add no taint that a controller of Cluster API would have to remove')
    .option('--from-node [root]', 'convert the files of an existing node: of this machine, or below a root directory')
    .addOption(
      new Option(
        '--to <kind>',
        "write objects of machineadm's bootstrap provider: of each KubeadmConfigTemplate a MachineadmConfigTemplate",
      ).choices(['machineadmconfigtemplate']),
    )
    .option('--structure', 'convert common files and commands to fields of the document')
    .addOption(
      new Option('--accept <codes>', 'accept these decisions, separated by commas, or all').argParser(
        (codes: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), ...codes.split(',')],
      ),
    )
    .option('--strict', 'treat warnings as errors; show notes')
    .option(
      '--output-dir <directory>',
      'write NAMESPACE/NAME.yaml below this directory, mode 0600, instead of to stdout',
    )
    .option('--force', 'with --output-dir: overwrite files that exist')
    .addOption(
      new Option('--report <format>', 'the format of the report on stderr').choices(['text', 'json']).default('text'),
    );
  addInputs(command, {
    property: 'filename',
    noun: 'input',
    description: 'objects in YAML or JSON, or user data: a file, a directory, or - for stdin; repeat for several',
    former: '-d, --document <source>',
  })
    .addHelpText(
      'after',
      '\nExits with 3, and writes nothing, while a decision is open or an error must be corrected.\n\nExamples:\n' +
        '  machineadm convert --from-node --structure --output-dir documents\n' +
        '  machineadm convert -f control-plane.yaml -f cluster.yaml --output-dir documents\n' +
        '  kubectl -n clusters get kubeadmconfigtemplates,machinedeployments -o yaml | machineadm convert -f - --to machineadmconfigtemplate\n' +
        '  kubectl get secret OLD -o yaml | machineadm convert -f - --kubernetes-version v1.35.2 > bootstrap.yaml\n' +
        '  kubectl get secret OLD -o yaml | machineadm convert -f - | machineadm wrap -f - --format cloud-init --secret NEW | kubectl create -f -',
    )
    .action(async (_, options: ConvertCommandOptions) =>
      done(await (await import('./run.ts')).convertCommand(options)),
    );
};
