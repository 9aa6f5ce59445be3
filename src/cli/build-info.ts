import manifest from '../../package.json' with { type: 'json' };

/** Written in by the build (`scripts/build/bundle.ts`); not there when the sources run as they are. */
declare const MACHINEADM_BUILD: { readonly commit: string };

export interface BuildInfo {
  /** Of package.json, a semantic version. */
  readonly version: string;
  /** The git commit it was built from, `-dirty` when the sources differed from it; `unknown` when not built from git. */
  readonly commit: string;
  /** The version of the embedded Node, without the leading v. */
  readonly node: string;
}

/** What this program is, as `version` prints it and reports carry it. */
export function buildInfo(): BuildInfo {
  return {
    version: manifest.version,
    commit: typeof MACHINEADM_BUILD === 'undefined' ? 'unknown' : MACHINEADM_BUILD.commit,
    node: process.versions.node,
  };
}
