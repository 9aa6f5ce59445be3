/** A semantic version without pre-release and build parts; `text` is the printed version. */
export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  readonly text: string;
}

/**
 * Finds the version in a program's output: `containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+b1`,
 * `v1.20.2`, `Kubernetes v1.31.0-rc.1+build`. Pre-release and build parts are dropped from the numbers and kept in
 * `text`, the word that contains the version. Undefined without a version.
 */
export function parseVersion(text: string): Version | undefined {
  // Must be a separate word: a commit hash or a module path such as `github.com/containerd/containerd/v2` does not
  // count.
  const match = /(?:^|\s)(v?(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?(?:[-+~.][0-9A-Za-z._+~-]*)?)(?=\s|$)/.exec(text);
  if (match === null) return undefined;
  const [, word = '', major, minor, patch = '0'] = match;
  return { major: Number(major), minor: Number(minor), patch: Number(patch), text: word };
}

/** Orders two versions by major, minor and patch: negative, zero or positive, as for `Array.sort`. */
export function compareVersions(a: Version, b: Version): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch;
}
