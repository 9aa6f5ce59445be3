import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { tar } from '@machineadm/archives/write-tar.ts';

export interface BundleFile {
  /** Relative, with `/`: `logs/kubelet.log`. */
  readonly path: string;
  readonly content: string;
}

const TOP = 'machineadm-bundle';

/**
 * A gzipped tar of these files and a manifest with their digests, all in one directory. The same files always give the
 * same bytes: names are sorted, owners and times are left out.
 */
export function packBundle(files: readonly BundleFile[], manifest: Readonly<Record<string, unknown>>): Uint8Array {
  const sorted = files
    .map(({ path, content }) => ({ path, content: Buffer.from(content) }))
    .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  const listed = sorted.map(({ path, content }) => {
    return { path, size: content.length, sha256: createHash('sha256').update(content).digest('hex') };
  });
  const index = Buffer.from(`${JSON.stringify({ ...manifest, files: listed }, undefined, 2)}\n`);
  const entries = [{ path: 'manifest.json', content: index }, ...sorted];
  return gzipSync(tar(entries.map(({ path, content }) => ({ path: `${TOP}/${path}`, content, mode: 0o600 }))), {
    level: 9,
  });
}
