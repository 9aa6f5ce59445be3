import { type Command, Option } from 'commander';
import type { ConvertCommandOptions } from './convert.ts';
import { addCarrierOptions, formats } from './wrap-options.ts';

/** The command `convert` and its options. */
export function addConvert(program: Command, done: (status: number) => void): void {
  const several = (value: string, earlier: readonly string[] | undefined): readonly string[] => [
    ...(earlier ?? []),
    value,
  ];
  const command = program
    .command('convert')
    .description("make documents of Cluster API's KubeadmConfig and KubeadmControlPlane, or of their bootstrap data")
    .addOption(
      new Option(
        '-f, --filename <source>',
        'objects in YAML or JSON, or user data: a file, a directory, or - for standard input; repeat for several',
      )
        .argParser(several)
        .makeOptionMandatory(),
    )
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
    .option('--references <directory>', 'where the machine finds what is referenced (default: /run/secrets)')
    .option('--standalone', 'no controller of Cluster API is there to take its taint away')
    .option('--structure', 'lift well-known files and commands into structured parts of the document')
    .addOption(
      new Option(
        '--accept <codes>',
        'write the document in spite of these decisions, or all; with commas between',
      ).argParser((codes: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), ...codes.split(',')]),
    )
    .option('--strict', 'take warnings for errors; show notes')
    .option('--to <directory>', 'write NAME.yaml there, 0600, instead of to standard output')
    .addOption(
      new Option('--wrap <format>', 'write user data instead of documents, as `machineadm wrap` does').choices(
        formats(),
      ),
    )
    .option('--secret <name>', 'with --wrap: write a bootstrap data Secret of this name that holds the user data')
    .addOption(
      new Option('--report <format>', 'of what is told on standard error').choices(['text', 'json']).default('text'),
    );
  addCarrierOptions(command)
    .addHelpText(
      'after',
      '\nExits with 3 while something must be decided or mended; nothing is written then.\n\nExamples:\n' +
        '  machineadm convert -f control-plane.yaml -f cluster.yaml --to documents\n' +
        '  kubectl get secret OLD -o yaml | machineadm convert -f - --kubernetes-version v1.35.2 > bootstrap.yaml\n' +
        '  kubectl get secret OLD -o yaml | machineadm convert -f - --kubernetes-version v1.35.2 --wrap cloud-init --secret NEW | kubectl create -f -',
    )
    .action(async (options: ConvertCommandOptions) =>
      done(await (await import('./convert.ts')).convertCommand(options)),
    );
}
