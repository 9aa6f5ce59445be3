import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';

/**
 * The licence texts that must be distributed with the binary: that of Node (its LICENSE includes OpenSSL, ICU, V8 and the
 * rest) and those of every npm package in the bundle.
 */
export async function licenses(root: string, metafile: Metafile, nodePackage: string | undefined): Promise<string> {
  const texts: string[] = [];
  for (const name of [...(nodePackage === undefined ? [] : [nodePackage]), ...bundledPackages(metafile)]) {
    const directory = join(root, 'node_modules', name);
    const files = globSync(['LICENSE*', 'LICENCE*', 'license*', 'NOTICE*'], { cwd: directory }).sort();
    if (files.length === 0) throw new Error(`${name} ships no licence text`);
    for (const file of files) texts.push(`==== ${name}: ${file}\n\n${await readFile(join(directory, file), 'utf8')}`);
  }
  return texts.join('\n\n');
}

/** The npm packages in a bundle, sorted by name. */
export function bundledPackages(metafile: Metafile): readonly string[] {
  const packages = new Set<string>();
  for (const input of Object.keys(metafile.inputs)) {
    const name = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
    if (name !== undefined) packages.add(name);
  }
  return [...packages].sort();
}
