const VERSION = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/;

/** A semantic version without a leading v and without build metadata; also the name of a directory. */
export function isReleaseVersion(text: string): boolean {
  return VERSION.test(text);
}

/** Orders by semver.org 2.0.0, 11: negative, zero or positive, as `Array.sort` wants it. Both must be versions. */
export function compareReleases(a: string, b: string): number {
  const [left, right] = [parts(a), parts(b)];
  for (const [index, number] of left.numbers.entries()) {
    const difference = number - (right.numbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  if (left.preview.length === 0 || right.preview.length === 0) return right.preview.length - left.preview.length;
  for (let index = 0; index < Math.max(left.preview.length, right.preview.length); index += 1) {
    const difference = compareIdentifiers(left.preview[index], right.preview[index]);
    if (difference !== 0) return difference;
  }
  return 0;
}

function parts(version: string): { readonly numbers: readonly number[]; readonly preview: readonly string[] } {
  const [, major, minor, patch, preview] = VERSION.exec(version) ?? [];
  return { numbers: [major, minor, patch].map(Number), preview: preview?.split('.') ?? [] };
}

function compareIdentifiers(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? -1 : 1;
  const [numberA, numberB] = [a, b].map((text) => (/^\d+$/.test(text) ? Number(text) : undefined));
  if (numberA !== undefined && numberB !== undefined) return numberA - numberB;
  if (numberA !== undefined || numberB !== undefined) return numberA === undefined ? 1 : -1;
  return a < b ? -1 : a > b ? 1 : 0;
}
