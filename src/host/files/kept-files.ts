import { member } from '@machineadm/document/values/untyped.ts';
import type { Host, QueryHost } from '../seam/host.ts';

/** A file as it was before a change; without content: there was none. */
export interface KeptFile {
  readonly path: string;
  readonly content: string | undefined;
  readonly mode: number;
  readonly gid?: number | undefined;
}

/** Reads the files as they are, each once. */
export async function keepFiles(host: QueryHost, paths: readonly string[]): Promise<readonly KeptFile[]> {
  const files: KeptFile[] = [];
  for (const path of new Set(paths)) {
    const [content, stat] = [await host.readText(path), await host.stat(path)];
    files.push({ path, content, mode: stat?.mode ?? 0o600, gid: stat?.gid ?? 0 });
  }
  return files;
}

/** Writes them back, in their order, and removes those that were not there. */
export async function restoreFiles(host: Host, files: readonly KeptFile[]): Promise<void> {
  for (const { path, content, mode, gid } of files) {
    if (content === undefined) await host.removeFile(path);
    else await host.writeFile({ path, content, mode, ...(gid === undefined ? {} : { gid }) });
  }
}

/** Kept files that were stored as JSON; undefined where anything is damaged: what cannot be read must not count as missing. */
export function parseKeptFiles(value: unknown): readonly KeptFile[] | undefined {
  return Array.isArray(value) && value.every(isKeptFile) ? value : undefined;
}

function isKeptFile(value: unknown): value is KeptFile {
  const [path, content, mode, gid] = ['path', 'content', 'mode', 'gid'].map((name) => typeof member(value, name));
  const isOr = (type: string, found: string | undefined) => found === type || found === 'undefined';
  return path === 'string' && mode === 'number' && isOr('string', content) && isOr('number', gid);
}
