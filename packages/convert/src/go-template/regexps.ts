import type { Functions } from './functions.ts';
import { GoTemplateError } from './tokens.ts';
import { requireShort } from './values.ts';

/** The part of re2js that is used: Go's regular expressions. */
export interface Regexps {
  readonly RE2JS: { compile(pattern: string): { matcher(text: string): Matcher } };
}

interface Matcher {
  find(): boolean;
  start(): number;
  end(): number;
  group(group?: number): string | null;
  groupCount(): number;
}

/** Sprig's functions over regexp.Regexp. */
export function goRegexps(regexps: Regexps): Functions {
  const matches = (pattern: string, text: string): readonly Match[] => allMatches(regexps, pattern, text);
  return {
    regexMatch: { parameters: 'ss', call: (pattern: string, text: string) => matches(pattern, text).length > 0 },
    regexFind: {
      parameters: 'ss',
      call: (pattern: string, text: string) => matches(pattern, text)[0]?.groups[0] ?? '',
    },
    regexFindAll: {
      parameters: 'ssn',
      call: (pattern: string, text: string, count: bigint) =>
        matches(pattern, text)
          .slice(0, count < 0n ? undefined : Number(count))
          .map(({ groups: [whole = ''] }) => whole),
    },
    regexReplaceAll: {
      parameters: 'sss',
      call: (pattern: string, text: string, by: string) =>
        replaced(text, matches(pattern, text), ({ groups }) => expanded(by, groups)),
    },
    regexReplaceAllLiteral: {
      parameters: 'sss',
      call: (pattern: string, text: string, by: string) => replaced(text, matches(pattern, text), () => by),
    },
  };
}

interface Match {
  readonly start: number;
  readonly end: number;
  readonly groups: readonly string[];
}

function allMatches({ RE2JS }: Regexps, pattern: string, text: string): readonly Match[] {
  const found: Match[] = [];
  try {
    const matcher = RE2JS.compile(pattern).matcher(text);
    while (matcher.find()) {
      const [start, end] = [matcher.start(), matcher.end()];
      // An empty match at the end of the one before does not count (regexp, "If 'All' is present").
      if (start === end && found.at(-1)?.end === start) continue;
      const groups = Array.from({ length: matcher.groupCount() + 1 }, (_, index) => matcher.group(index) ?? '');
      found.push({ start, end, groups });
    }
  } catch {
    throw new GoTemplateError('the regular expression is not valid');
  }
  return found;
}

function replaced(text: string, matches: readonly Match[], by: (match: Match) => string): string {
  let [result, end] = ['', 0];
  for (const match of matches) {
    result += text.slice(end, match.start) + by(match);
    end = match.end;
    requireShort(result.length);
  }
  return result + text.slice(end);
}

/** Regexp.Expand: the longest name after `$`; names of groups are not known here. */
function expanded(by: string, groups: readonly string[]): string {
  return by.replace(/\$(?:\$|(\w+)|\{(\w+)\})/g, (whole, name?: string, braced?: string) => {
    const group = name ?? braced;
    if (whole === '$$') return '$';
    if (group === undefined || !/^\d+$/.test(group)) {
      if (group !== undefined && groups.length > 0 && /^[A-Za-z_]/.test(group))
        throw new GoTemplateError('a group of a regular expression by name');
      return '';
    }
    return groups[Number(group)] ?? '';
  });
}
