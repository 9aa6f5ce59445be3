import { tar } from '@machineadm/archives/write-tar.ts';

/** A tar archive of these files, by path, with entries for their parent directories. */
export function tarOfFiles(
  files: Readonly<Record<string, { readonly content: Buffer; readonly mode: number }>>,
): Buffer {
  const directories = new Set<string>();
  for (const path of Object.keys(files)) {
    const parts = path.split('/').slice(0, -1);
    parts.forEach((_, index) => {
      directories.add(parts.slice(0, index + 1).join('/'));
    });
  }
  return tar([
    ...[...directories].map((path) => ({ path, content: undefined, mode: 0o755 })),
    ...Object.entries(files).map(([path, file]) => ({ path, ...file })),
  ]);
}
