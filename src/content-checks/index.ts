import { utf8Text } from '@machineadm/document/encodings/decode.ts';
import type { FileModel } from '@machineadm/document/model/index.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { scopeOf, wantedContent } from '../owned-files/content.ts';
import { notChecked, type UnmetRequirement } from '../step/index.ts';
import type { CheckedFile } from './checked-file.ts';
import { isSshdFile, sshdObstacles } from './sshd.ts';
import { isSudoersFile, sudoersObstacles } from './sudoers.ts';
import { isUnitFile, unitObstacles } from './units.ts';

const READERS = [
  [isSudoersFile, sudoersObstacles],
  [isSshdFile, sshdObstacles],
  [isUnitFile, unitObstacles],
] as const;

/** What sudo, sshd and systemd would refuse of the files of a document, asked before any of them is in place. */
export async function contentObstacles(
  host: QueryHost,
  files: readonly FileModel[],
): Promise<readonly UnmetRequirement[]> {
  const known: CheckedFile[] = [];
  const unknown: UnmetRequirement[] = [];
  for (const [index, file] of files.entries()) {
    const { path, mode } = file;
    if (!READERS.some(([isRead]) => isRead(path))) continue;
    const change = `files/${path}`;
    const text = await textOf(host, files, index);
    if (text === undefined) unknown.push(notChecked(path, 'its content is not known before the run', { change }));
    else known.push({ path, text, change, scope: scopeOf(file), isPublic: (mode & 0o004) !== 0 });
  }
  const found = READERS.map(async ([isRead, ask]) => {
    const own = known.filter(({ path }) => isRead(path));
    return own.length === 0 ? [] : await ask(host, own);
  });
  return [...unknown, ...(await Promise.all(found)).flat()];
}

/** What the file will hold, as far as neither a secret nor a download has to be fetched for it. */
async function textOf(host: QueryHost, files: readonly FileModel[], index: number): Promise<string | undefined> {
  const content = files[index]?.content;
  const isCopy = content?.kind === 'file' && !files.slice(0, index).some(({ path }) => path === content.path);
  if (content?.kind !== 'inline' && !isCopy) return undefined;
  const { bytes } = await wantedContent(host, files, index);
  return bytes === undefined ? undefined : utf8Text(bytes);
}
