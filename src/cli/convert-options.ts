import { type Command, Option } from 'commander';
import type { ConvertCommandOptions } from './convert.ts';
import { addInputs, formerly, several } from './options.ts';
import { addCarrierOptions, formats } from './wrap-options.ts';

/** Adds `convert` and its options. */
export function addConvert(program: Command, done: (status: number) => void): void {
  const command = program
    .command('convert')
    .description("convert Cluster API's KubeadmConfig and KubeadmControlPlane, or their bootstrap data, to documents")
    .addOption(
      new Option('--role <role>', 'what the machine becomes, where the input leaves it open').choices([
        'InitControlPlane',
        'JoinControlPlane',
        'Worker',
      ]),
    )
    .option('--kubernetes-version <version>', 'of the machine, where the input has none: v1.35.2')
    .option('--control-plane-version <version>', 'for files with contentFormat Template')
    .option('--endpoint <host:port>', 'of the API server, where no Cluster is in the input')
    .addOption(
      new Option('--ca-cert-hash <hash>', "of the cluster's CA: sha256:…; repeat for several").argParser(several),
    )
    .option('--inline-secrets', 'write values of Secrets in the input into the document, instead of references')
    .option('--references <directory>', 'where the machine finds referenced secrets (default: /run/secrets)')
    .option('--standalone', 'no controller of Cluster API is there to remove its taint')
    .option('--structure', 'lift well-known files and commands into structured parts of the document')
    .addOption(
      new Option(
        '--accept <codes>',
        'write the document in spite of these decisions, or all; separated by commas',
      ).argParser((codes: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), ...codes.split(',')]),
    )
    .option('--strict', 'treat warnings as errors; show notes')
    .option('--output-dir <directory>', 'write NAME.yaml there, mode 0600, instead of to stdout')
    .addOption(formerly('--to <directory>', 'outputDir'))
    .addOption(
      new Option('--wrap <format>', 'write user data instead of documents, as `machineadm wrap` does').choices(
        formats(),
      ),
    )
    .option('--secret <name>', 'with --wrap: write a bootstrap data Secret of this name that holds the user data')
    .addOption(new Option('--report <format>', 'of the messages on stderr').choices(['text', 'json']).default('text'));
  addInputs(addCarrierOptions(command), {
    property: 'filename',
    noun: 'input',
    description: 'objects in YAML or JSON, or user data: a file, a directory, or - for stdin; repeat for several',
    former: '-d, --document <source>',
    required: true,
  })
    .addHelpText(
      'after',
      '\nExits with 3 while something must be decided or corrected; nothing is written then.\n\nExamples:\n' +
        '  machineadm convert -f control-plane.yaml -f cluster.yaml --output-dir documents\n' +
        '  kubectl get secret OLD -o yaml | machineadm convert -f - --kubernetes-version v1.35.2 > bootstrap.yaml\n' +
        '  kubectl get secret OLD -o yaml | machineadm convert -f - --kubernetes-version v1.35.2 --wrap cloud-init --secret NEW | kubectl create -f -',
    )
    .action(async (_, options: ConvertCommandOptions) =>
      done(await (await import('./convert.ts')).convertCommand(options)),
    );
}
