import type { ResolveSecret } from '../fields/convert-values.ts';
import type { Claim } from '../ownership/claim.ts';
import { parseMode } from '../text/units.ts';
import { contentOf, type FileContent } from './file-content.ts';
import type { FileSection } from './files.ts';
import { type OwedByDocument, owedBy, ownerOf, plainPath } from './paths-of-host.ts';
import { type SelectionModel, selectionOf } from './unpack.ts';

/** An entry of `host.files` that is unpacked. */
export interface ArchiveModel {
  /** The directory that it is unpacked to, or with `select.member` the file that the member becomes. */
  readonly path: string;
  readonly content: Exclude<FileContent, { readonly kind: 'secret' }>;
  readonly select: SelectionModel;
  /** Of all files in it; undefined: as the archive has them. */
  readonly mode: number | undefined;
  readonly user: string;
  readonly group: string;
  readonly directoryMode: number;
  /** Its place in `host.files`. */
  readonly at: number;
  readonly owes?: readonly OwedByDocument[];
}

/** Entries with `unpack`, which are no files themselves. */
export async function archivesOf(section: readonly FileSection[], resolve: ResolveSecret): Promise<ArchiveModel[]> {
  const archives = section.map(async (file, at): Promise<readonly ArchiveModel[]> => {
    if (file.unpack === undefined || file.absent === true) return [];
    const content = await contentOf(file, resolve);
    if (content.kind === 'secret') return [];
    return [
      {
        path: plainPath(file.path),
        content,
        select: selectionOf(file.unpack),
        mode: file.mode === undefined ? undefined : parseMode(file.mode),
        ...ownerOf(file.owner ?? 'root:root'),
        directoryMode: parseMode(file.directoryMode ?? '0755'),
        at,
        ...owedBy(file),
      },
    ];
  });
  return (await Promise.all(archives)).flat();
}

/** The files that the document itself names: what else an archive holds is found when it is read. */
export function archiveClaims(archives: readonly ArchiveModel[]): Claim[] {
  return archives.flatMap(({ path, select: { member, include = [] }, at }) => {
    const claim = { step: 'archives', kind: 'file' } as const;
    const field = ['host', 'files', at];
    if (member !== undefined) return [{ ...claim, field: [...field, 'path'], path }];
    return include.flatMap((name, index): Claim[] =>
      name.includes('*') ? [] : [{ ...claim, field: [...field, 'unpack', 'include', index], path: `${path}/${name}` }],
    );
  });
}
