import { formatWarning } from '@machineadm/document/index.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { isAirGapped, neededImages } from '@machineadm/kubeadm/images/needed.ts';
import { buildInfo } from '../../cli/build-info.ts';
import type { DocumentOptions } from '../../cli/options.ts';
import { printData, printNotice, printText } from '../../cli/output.ts';
import { openDocument } from '../../pipeline/load.ts';

/**
 * `machineadm images list`: prints the images that a document needs, one on a line, to fill a mirror or an archive. It
 * works anywhere, without kubeadm and without a network.
 */
export async function imagesList({ document, output }: DocumentOptions): Promise<number> {
  const { model, warnings } = await openDocument(document, buildInfo().version);
  const { images, unknown } = await neededImages(model);
  const airGapped = isAirGapped(model);
  if (output !== 'text') await printData(output, 'ImageList', { airGapped, images, unknown });
  else {
    if (images.length > 0) printText(images.map(({ image }) => image).join('\n'));
    const uncertain = images.filter(({ certain }) => !certain);
    for (const { image, for: uses } of uncertain) {
      printNotice(
        `not certain: ${image} (${uses.join(', ')}): the kubeadm of the release, or the cluster that is joined, may name another`,
      );
    }
    for (const warning of warnings) if (warning.path === 'kubernetes.version') printNotice(formatWarning(warning));
    for (const what of unknown) printNotice(`not known: ${what}`);
  }
  return exitCode('Success');
}
