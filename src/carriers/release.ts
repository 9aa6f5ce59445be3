import { MachineadmError } from '../document/errors.ts';
import type { DownloadScript } from './download-script.ts';

/**
 * What a download script pins of a release, from the text of its `manifest.json`: the version, and for each architecture of
 * Linux the digests of its archives and of the program inside. Throws `DownloadInvalid` where it is no such manifest; that
 * version and digests are well formed is the renderer's to judge.
 */
export function pinsOfRelease(manifest: string): Pick<DownloadScript, 'version' | 'digests'> {
  const release = objectOf(parse(manifest));
  const { version, artefacts } = release;
  if (release.kind !== 'Release' || typeof version !== 'string' || !Array.isArray(artefacts)) throw invalid();
  const archives = artefacts.map(objectOf).filter(({ os }) => os === 'linux');
  const digests: Record<string, { gzip: string; xz?: string; program: string }> = {};
  for (const architecture of ['amd64', 'arm64']) {
    const of = (compression: string): Record<string, unknown> | undefined =>
      archives.find((one) => one.architecture === architecture && one.compression === compression);
    const gzip = of('gzip');
    if (gzip === undefined) continue;
    const xz = of('xz');
    digests[architecture] = {
      gzip: textOf(gzip.sha256),
      ...(xz === undefined ? {} : { xz: textOf(xz.sha256) }),
      program: textOf(objectOf(gzip.program).sha256),
    };
  }
  return { version, digests };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid();
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  if (value === null || typeof value !== 'object') throw invalid();
  return Object.fromEntries(Object.entries(value));
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw invalid();
  return value;
}

function invalid(): MachineadmError {
  return new MachineadmError({
    reason: 'DownloadInvalid',
    summary: 'this is not the manifest.json of a release',
    remedy: 'Give the manifest.json that lies in the directory of the release.',
  });
}
