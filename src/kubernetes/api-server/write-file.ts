import { dirname } from 'node:path/posix';
import type { Host, NewFile } from '../../host/seam/host.ts';

/** Writes a file of the API server; a directory created for it is recorded as ours, so that a reset removes it. */
export async function writeApiServerFile(host: Host, file: NewFile): Promise<void> {
  const directory = dirname(file.path);
  if ((await host.stat(directory)) === undefined) await host.makeDirectory(directory, file.directoryMode ?? 0o755);
  await host.writeFile(file);
}
