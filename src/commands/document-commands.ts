import type { Role } from '@machineadm/document/index.ts';
import { Option } from 'commander';
import type { CommandTable } from '../cli/command-tree.ts';
import { addDocuments, type DocumentOptions, outputOption } from '../cli/options.ts';
import { OUTPUT_KINDS } from '../cli/output-kinds.ts';
import { addConvert } from './convert/index.ts';
import type { ExplainOptions } from './explain/run.ts';
import type { RenderOptions } from './render/kubeadm.ts';
import type { SchemaOptions } from './schema/run.ts';
import { addWrap } from './wrap/index.ts';

/** The commands that work on documents. They need no root rights, no network, and can run on any machine. */
export const DOCUMENT_COMMANDS: CommandTable = {
  example(program, done) {
    program
      .command('example')
      .description('print an annotated document to start from')
      .addOption(
        new Option('--role <role>', 'the role of the machine')
          .choices(['InitControlPlane', 'JoinControlPlane', 'Worker'])
          .default('InitControlPlane'),
      )
      .addHelpText('after', '\nExample:\n  machineadm example --role Worker > bootstrap.yaml')
      .action(async (options: { role: Role }) => done(await (await import('./example.ts')).example(options)));
  },

  explain(program, done) {
    program
      .command('explain')
      .description('explain a field of the document: type, default, values, what it changes on the machine')
      .argument('[field]', 'its path, such as kubernetes.join or reporting.sinks.Webhook', '')
      .option('--recursive', 'list the names of all fields in it')
      .addHelpText('after', '\nExample:\n  machineadm explain host.files')
      .action(async (field: string, options: ExplainOptions) =>
        done(await (await import('./explain/run.ts')).explain(field, options)),
      );
  },

  schema(program, done) {
    program
      .command('schema')
      .description('print the JSON Schema of the document or of a result of -o json, or write the one for editors')
      .addOption(
        new Option('--kind <kind>', 'the schema of this result instead of the document').choices(schemaKinds()),
      )
      .addOption(
        new Option(
          '--editor [directory]',
          'write the schema for editors as machineadm.schema.json beside the documents of a directory (default: the current one)',
        ).conflicts('kind'),
      )
      .addHelpText(
        'after',
        '\nExamples:\n  machineadm schema --editor\n  machineadm schema > schema.json\n  machineadm schema --kind Plan > plan.schema.json',
      )
      .action(async (options: SchemaOptions) => done(await (await import('./schema/run.ts')).schema(options)));
  },

  validate(program, done) {
    const validate = program
      .command('validate')
      .description('check a document and print every mistake with its place')
      .addOption(outputOption());
    addDocuments(validate, 'required')
      .addHelpText(
        'after',
        '\nExamples:\n  machineadm validate -f bootstrap.yaml\n  machineadm validate -f base.yaml -f drop-ins/',
      )
      .action(async (_, options: DocumentOptions) => done(await (await import('./validate/run.ts')).validate(options)));
  },

  config(program, done) {
    const config = program
      .command('config')
      .description('print the merged document')
      .addHelpText('after', '\nExample:\n  machineadm config show -f bootstrap.yaml');
    const show = config
      .command('show')
      .description('print the merged document, without secrets')
      .addOption(outputOption())
      .option('--origin', 'print for each field which source set it');
    addDocuments(show, 'required')
      .addHelpText('after', '\nExample:\n  machineadm config show --origin -f base.yaml -f site.d/')
      .action(async (_, options: DocumentOptions & { origin?: true }) =>
        done(await (await import('./config/show.ts')).configShow(options)),
      );
  },

  images(program, done) {
    const images = program
      .command('images')
      .description('the container images of a document')
      .addHelpText('after', '\nExample:\n  machineadm images list -f bootstrap.yaml');
    const list = images
      .command('list')
      .description('print every image that the document needs, to fill a mirror or an archive; works offline')
      .addOption(outputOption());
    addDocuments(list, 'required')
      .addHelpText(
        'after',
        '\nExample:\n  machineadm images list -f bootstrap.yaml | while read -r image; do skopeo copy docker://$image docker-archive:...; done',
      )
      .action(async (_, options: DocumentOptions) =>
        done(await (await import('./images/list.ts')).imagesList(options)),
      );
  },

  render(program, done) {
    const render = program
      .command('render')
      .description('print the configuration of a bootstrapper')
      .addHelpText('after', '\nExample:\n  machineadm render kubeadm -f bootstrap.yaml');
    const kubeadm = render
      .command('kubeadm')
      .description('print the kubeadm configuration, without secrets; changes nothing')
      .option('--kubeadm-version <version>', 'the version of the kubeadm that reads it; default: kubernetes.version')
      .addOption(outputOption());
    addDocuments(kubeadm, 'required')
      .addHelpText('after', '\nExample:\n  machineadm render kubeadm --kubeadm-version v1.31.4 -f bootstrap.yaml')
      .action(async (_, options: RenderOptions) =>
        done(await (await import('./render/kubeadm.ts')).renderKubeadmCommand(options)),
      );
  },

  convert: addConvert,

  wrap: addWrap,
};

/** The names of all results that have a schema, including those with an apiVersion of their own. */
function schemaKinds(): readonly string[] {
  return ['MachineBootstrap', 'BootstrapStatus', 'BootstrapSummary', 'BootstrapEvent', ...OUTPUT_KINDS];
}
