import type { ImageArchive, ImagesModel } from '../../model.ts';
import { headersOf, type ResolveSecret } from './convert-values.ts';
import type { ImagesSection } from './images.ts';

/** The model of a section that was checked. */
export function toImages(section: ImagesSection | undefined, resolve: ResolveSecret): ImagesModel {
  return {
    archives: (section?.archives ?? []).map((entry, index) => toArchive(entry, resolve, `images.archives[${index}]`)),
    required: section?.required ?? [],
  };
}

function toArchive(
  { path, url, sha256: digest, headers }: NonNullable<ImagesSection['archives']>[number],
  resolve: ResolveSecret,
  owner: string,
): ImageArchive {
  if (path !== undefined) return { kind: 'file', path, sha256: digest };
  if (url === undefined || digest === undefined) throw new TypeError(`${owner} was not checked`);
  return { kind: 'http', url, sha256: digest, headers: headersOf(headers, resolve, owner) };
}
