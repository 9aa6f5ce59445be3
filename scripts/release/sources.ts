import { globSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { tarOfFiles } from '../build/tar.ts';
import { changesOf } from './changelog.ts';

/** Archives of files in the checkout, each with its files and the prefix that is removed from their paths. */
const ARCHIVES = {
  manifests: {
    files: 'packaging/{daemonset,management-cluster,translator,talos,cloud-init,ignition}/**',
    below: 'packaging/',
  },
  'image-builder': { files: 'packaging/image-builder/**', below: 'packaging/image-builder/' },
  contract: { files: 'contract/**', below: 'contract/' },
} as const;

const SCRIPTS = ['packaging/download/machineadm-download.sh', 'packaging/download/machineadm-download.ps1'];

/**
 * Writes the files of a release that come from the checkout: the manifests, the Ansible role and the Packer template, the
 * contract, the download scripts, the changelog, and the release notes, which end with `more`.
 */
export async function copySources(
  checkout: string,
  to: string,
  { version, createdAt }: { readonly version: string; readonly createdAt: Date },
  more: string,
): Promise<void> {
  for (const [name, { files, below }] of Object.entries(ARCHIVES)) {
    const top = `machineadm-${version}-${name}`;
    const contents: Record<string, { content: Buffer; mode: number }> = {};
    for (const entry of globSync(files, { cwd: checkout, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      const content = await readFile(path);
      const mode = content.subarray(0, 2).toString() === '#!' ? 0o755 : 0o644;
      contents[`${top}/${path.slice(join(checkout, below).length)}`] = { content, mode };
    }
    const sorted = Object.fromEntries(Object.entries(contents).sort(([a], [b]) => (a < b ? -1 : 1)));
    await writeFile(join(to, `${top}.tar.gz`), gzipSync(tarOfFiles(sorted), { level: 9 }));
  }
  for (const script of SCRIPTS) await writeFile(join(to, basename(script)), await readFile(join(checkout, script)));
  const { notes, changelog } = changesOf(checkout, version, createdAt);
  await writeFile(join(to, 'RELEASE_NOTES.md'), notes + more);
  await writeFile(join(to, 'CHANGELOG.md'), changelog);
}
