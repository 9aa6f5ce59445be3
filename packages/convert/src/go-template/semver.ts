import { GoTemplateError } from './tokens.ts';
import { Opaque } from './values.ts';

interface Version {
  readonly parts: readonly [bigint, bigint, bigint];
  readonly pre: string;
}

const VERSION = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;
const CONSTRAINT =
  /^(=|!=|>|<|>=|=>|<=|=<|~|~>|\^)?\s*(v?\d+(?:\.\d+)?(?:\.\d+)?(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)/;

/** Sprig's semver (github.com/Masterminds/semver v3): its fields can be read and compared. */
export function semverOf(text: string): Opaque {
  const { parts, pre } = versionOf(text);
  const [major, minor, patch] = parts;
  return new Opaque(
    'only Major, Minor, Patch and Prerelease of a semver are known here',
    new Map<string, bigint | string>([
      ['Major', major],
      ['Minor', minor],
      ['Patch', patch],
      ['Prerelease', pre],
    ]),
  );
}

function versionOf(text: string): Version {
  const [whole, major = '0', minor = '0', patch = '0', pre = ''] = VERSION.exec(text) ?? [];
  if (whole === undefined) throw new GoTemplateError('a text that is no version');
  return { parts: [BigInt(major), BigInt(minor), BigInt(patch)], pre };
}

/** Constraints in a row, or separated by commas, all hold; `||` separates alternatives (constraints.go). */
export function semverCompare(constraints: string, text: string): boolean {
  const version = versionOf(text);
  return constraints.split('||').some((all) => {
    let rest = all.trim();
    let holds = true;
    do {
      const [whole, operator = '=', given = ''] = CONSTRAINT.exec(rest) ?? [];
      if (whole === undefined) throw new GoTemplateError('a constraint that is not known here');
      holds = check(version, operator, given) && holds;
      rest = rest.slice(whole.length);
      if (rest !== '' && !/^(?:\s*,\s*|\s+)(?=[^\s,-])/.test(rest))
        throw new GoTemplateError('a constraint that is not known here');
      rest = rest.replace(/^[\s,]+/, '');
    } while (rest !== '');
    return holds;
  });
}

function check(version: Version, operator: string, given: string): boolean {
  const wanted = versionOf(given);
  // Parts that the constraint leaves open.
  const known = (given.split(/[-+]/, 1)[0] ?? '').split('.').length;
  const isOpen = known < 3;
  const order = compared(version, wanted);
  const sameUpTo = (count: number) =>
    version.parts.slice(0, count).every((part, index) => part === wanted.parts[index]);
  // A release before a version only fits where the constraint names one, too.
  const isEarly = version.pre !== '' && wanted.pre === '';
  switch (operator) {
    case '!=':
      if (isEarly) return false;
      return isOpen ? !sameUpTo(known) : order !== 0;
    case '>':
      return !isEarly && (isOpen ? order > 0 && !sameUpTo(known) : order > 0);
    case '<':
      return !isEarly && order < 0;
    case '>=':
    case '=>':
      return !isEarly && order >= 0;
    case '<=':
    case '=<':
      return !isEarly && (order <= 0 || (isOpen && sameUpTo(known)));
    case '^': {
      // Up to the first part that is not zero.
      const first = wanted.parts.findIndex((part) => part > 0n);
      const count = first < 0 || first >= known ? known : first + 1;
      return !isEarly && order >= 0 && sameUpTo(count);
    }
    default: {
      if (operator === '=' && !isOpen) return order === 0;
      return !isEarly && order >= 0 && sameUpTo(Math.min(known, 2));
    }
  }
}

function compared(one: Version, other: Version): number {
  for (const [index, part] of one.parts.entries()) {
    const wanted = other.parts[index] ?? 0n;
    if (part !== wanted) return part < wanted ? -1 : 1;
  }
  return comparedEarly(one.pre, other.pre);
}

/** semver.org, 11: none is later than any; numbers before words. */
function comparedEarly(one: string, other: string): number {
  if (one === other) return 0;
  if (one === '' || other === '') return one === '' ? 1 : -1;
  const [left, right] = [one.split('.'), other.split('.')];
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const [first, second] = [left[index], right[index]];
    if (first === second) continue;
    if (first === undefined || second === undefined) return first === undefined ? -1 : 1;
    const [isNumber, isOther] = [/^\d+$/.test(first), /^\d+$/.test(second)];
    if (isNumber !== isOther) return isNumber ? -1 : 1;
    return (isNumber ? BigInt(first) < BigInt(second) : first < second) ? -1 : 1;
  }
  return 0;
}
