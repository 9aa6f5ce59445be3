import type { AddCommand } from '../../cli/command-tree.ts';
import { addDocuments, type DocumentOptions, outputOption } from '../../cli/options.ts';

export const addImages: AddCommand = (program, done) => {
  const images = program
    .command('images')
    .description('the container images of a document')
    .usage('[list] [options] [document...]')
    .addHelpText('after', '\nExample:\n  machineadm images -f bootstrap.yaml');
  const list = images
    .command('list')
    .description('print every image that the document needs, to fill a mirror or an archive; works offline')
    .addOption(outputOption());
  addDocuments(list, 'required')
    .addHelpText(
      'after',
      '\nExample:\n  machineadm images list -f bootstrap.yaml | while read -r image; do skopeo copy docker://$image docker-archive:...; done',
    )
    .action(async (_, options: DocumentOptions) => done(await (await import('./list.ts')).imagesList(options)));
};
