import { fullReference } from '@machineadm/archives/image-reference.ts';
import type { CriImage } from '../host/cri/queries.ts';

/** The runtime's image for a reference in any form. */
export function findImage(images: readonly CriImage[], reference: string): CriImage | undefined {
  const full = fullReference(reference);
  return images.find(
    (image) => image.id === full || [...image.tags, ...image.digests].some((name) => fullReference(name) === full),
  );
}
