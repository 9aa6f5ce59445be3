import manifest from '../../package.json' with { type: 'json' };

/** The build replaces this name (`scripts/build/bundle.ts`). It is undefined when the sources run without a build. */
declare const MACHINEADM_BUILD: { readonly commit: string };

export interface BuildInfo {
  /** The version in package.json: a semantic version. */
  readonly version: string;
  /**
   * The git commit that was built; with `-dirty` where the sources differed from it, `unknown` where there was no git.
   */
  readonly commit: string;
  /** The version of the embedded Node, without the leading v. */
  readonly node: string;
}

/** The version, commit and Node of this program: `version` prints them, and reports carry them. */
export function buildInfo(): BuildInfo {
  return {
    version: manifest.version,
    commit: typeof MACHINEADM_BUILD === 'undefined' ? 'unknown' : MACHINEADM_BUILD.commit,
    node: process.versions.node,
  };
}
