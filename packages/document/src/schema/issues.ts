import type * as z from 'zod';
import {
  choices,
  didYouMean,
  type Finding,
  MOST_PROBLEMS,
  nearestNames,
  type PathSegment,
  unknownKey,
} from '../diagnostics/index.ts';
import { quoted } from '../text/quotable.ts';
import { Verbatim } from '../values/verbatim.ts';
import { accepts, type FieldSearch, holdsSecrets, isObject, keysAt, schemasAt, segmentsOf } from './places.ts';
import { repairHint } from './repairs.ts';
import { valueAt } from './valid-part.ts';
import { REFUSED, take } from './zod.ts';

/**
 * A schema's findings about a value, in messages that name the remedy. A wrong value is quoted where it is short, cannot be a
 * secret (`quoted`) and its field is none that holds secrets.
 */
export function schemaFindings(
  schema: z.ZodType,
  value: unknown,
  at: readonly PathSegment[],
  elsewhere: FieldSearch = () => [],
): Finding[] {
  if (take(schema, value) !== REFUSED) return [];
  const result = schema.safeParse(value);
  if (result.success) return [];
  const findings: Finding[] = [];
  const renamed = renamedKeys(result.error.issues, schema, value);
  // Above this limit a finding only has a count and a place.
  for (const issue of result.error.issues) {
    if (renamed.isMissing(issue)) continue;
    if (findings.length > 2 * MOST_PROBLEMS)
      findings.push({ code: 'InvalidValue', path: [...at, ...segmentsOf(issue)], message: '' });
    else findings.push(...fromIssue(issue, schema, value, at, { meantBy: renamed.meantBy, elsewhere }));
  }
  return findings;
}

/** Keys that were given another name than the one that is missing in the same map: one mistake, and so one finding. */
interface RenamedKeys {
  /** Whether the issue says that a key is missing whose value stands under another name. */
  isMissing(issue: z.core.$ZodIssue): boolean;
  /** The missing key whose value stands under an unknown one, by the path of the unknown key in JSON. */
  readonly meantBy: ReadonlyMap<string, string>;
}

function renamedKeys(issues: readonly z.core.$ZodIssue[], schema: z.ZodType, value: unknown): RenamedKeys {
  const meantBy = new Map<string, string>();
  const missing = new Set<string>();
  for (const issue of issues.slice(0, 2 * MOST_PROBLEMS)) {
    if (issue.code !== 'unrecognized_keys') continue;
    const map = segmentsOf(issue);
    const absent = issues.flatMap((other) => {
      const path = segmentsOf(other);
      const isInMap = path.length === map.length + 1 && map.every((segment, index) => segment === path[index]);
      return isInMap && valueAt(value, path) === undefined ? [path] : [];
    });
    for (const key of issue.keys.slice(0, 2 * MOST_PROBLEMS)) {
      const given = valueAt(value, [...map, key]);
      const near = nearestNames(key, keysAt(schema, map));
      const meant = absent.filter(
        (path) => !missing.has(JSON.stringify(path)) && schemasAt(schema, path).some((field) => accepts(field, given)),
      );
      const [path] = meant;
      if (meant.length !== 1 || path === undefined) continue;
      if (near.length > 0 && !near.includes(String(path.at(-1)))) continue;
      missing.add(JSON.stringify(path));
      meantBy.set(JSON.stringify([...map, key]), String(path.at(-1)));
    }
  }
  return { isMissing: (issue) => missing.has(JSON.stringify(segmentsOf(issue))), meantBy };
}

/** What is known of unknown keys beside the schema of their map. */
interface KeySearch {
  readonly meantBy: RenamedKeys['meantBy'];
  readonly elsewhere: FieldSearch;
}

function fromIssue(
  issue: z.core.$ZodIssue,
  schema: z.ZodType,
  value: unknown,
  at: readonly PathSegment[],
  search: KeySearch = { meantBy: new Map(), elsewhere: () => [] },
): Finding[] {
  return described(issue, schema, value, at, search).map((finding) => {
    const inner = finding.path.slice(at.length);
    const found = valueAt(value, inner);
    const isOfValue = (finding.code === 'InvalidType' || finding.code === 'InvalidValue') && finding.key === undefined;
    if (!isOfValue || finding.hint !== undefined || found === undefined || found === null) return finding;
    const keys = keysAt(schema, inner);
    const isMap = issue.code === 'invalid_type' && issue.expected === 'object' && keys.length > 0;
    const hint =
      repairHint(schemasAt(schema, inner), found, finding.path) ??
      (isMap ? `its keys: ${choices(keys, '')}` : undefined);
    return hint === undefined ? finding : { ...finding, hint };
  });
}

function described(
  issue: z.core.$ZodIssue,
  schema: z.ZodType,
  value: unknown,
  at: readonly PathSegment[],
  { meantBy, elsewhere }: KeySearch,
): Finding[] {
  const inner = segmentsOf(issue);
  const path = [...at, ...inner];
  const found = valueAt(value, inner);
  switch (issue.code) {
    case 'unrecognized_keys': {
      const known = keysAt(schema, inner, found);
      const others = keysAt(schema, inner);
      return issue.keys.slice(0, 2 * MOST_PROBLEMS).map((key) => {
        const meant = meantBy.get(JSON.stringify([...inner, key]));
        return unknownKey([...path, key], {
          known,
          others,
          value: valueAt(found, [key]),
          meant: meant === undefined ? elsewhere(key) : [meant],
        });
      });
    }
    case 'invalid_type': {
      if (found === undefined) {
        const key = path.at(-1);
        return [
          {
            code: 'MissingField',
            path: path.slice(0, -1),
            message: `"${String(key)}" is missing`,
            hint: `add ${String(key)}`,
          },
        ];
      }
      const expected = issue.message.startsWith('Invalid input')
        ? `expected ${article(issue.expected)}`
        : issue.message;
      return [
        {
          code: 'InvalidType',
          path,
          message: `${expected}, found ${kindOf(found)}`,
        },
      ];
    }
    case 'invalid_value': {
      const values = issue.values.map(String);
      const near = typeof found === 'string' ? nearestNames(found, values) : [];
      const all = choices(values, typeof found === 'string' ? found : '');
      const expected = `expected ${values.length > 1 ? `one of ${all}` : values[0]}`;
      const message = isRaw(issue.message) ? `${expected}${foundInstead(found)}` : issue.message;
      const code = found === undefined ? 'MissingField' : 'InvalidValue';
      return [{ code, path, message, ...(near.length === 0 ? {} : { hint: didYouMean(near) }) }];
    }
    case 'invalid_union':
      return fromUnion(issue, schema, value, at, path);
    case 'invalid_key':
      return [wrongKey(keyMessage(issue), path), ...wrongValue(schemasAt(schema, inner), found, path)];
    case 'too_small':
    case 'too_big':
      return [{ code: 'InvalidValue', path, message: isRaw(issue.message) ? sizeMessage(issue) : issue.message }];
    case 'invalid_format': {
      const message = isRaw(issue.message) ? formatMessage(issue) : issue.message;
      return [{ code: 'InvalidValue', path, message: withFound(message, found, path) }];
    }
    default: {
      const message = isRaw(issue.message) ? 'not a value that is allowed here' : issue.message;
      return [{ code: 'InvalidValue', path, message: withFound(message, found, path) }];
    }
  }
}

/** A key that its map cannot have: quoted where it may be, otherwise only its map is named. */
function wrongKey(message: string, path: readonly PathSegment[]): Finding {
  const key = String(path.at(-1));
  const told = withFound(message, key, path.slice(0, -1));
  return { code: 'InvalidValue', path, key, hidesKey: true, message: told };
}

/** What is wrong with the value of a wrong key, which zod does not check. The key is not shown. */
function wrongValue(schemas: readonly z.core.$ZodType[], value: unknown, path: readonly PathSegment[]): Finding[] {
  const [type, ...others] = schemas;
  if (type === undefined || others.length > 0 || !isParser(type)) return [];
  const issues = type.safeParse(value).error?.issues ?? [];
  return issues
    .filter((issue) => issue.path.length === 0 && !isRaw(issue.message))
    .map(({ message }) => ({ ...wrongKey('', path), message: withFound(message, value, path) }));
}

function isParser(type: z.core.$ZodType): type is z.ZodType {
  return 'safeParse' in type;
}

/** `, found "never"` at the end of a message; only the kind of a value that is not quoted. */
function foundInstead(found: unknown): string {
  if (found === undefined) return '';
  if (typeof found === 'boolean') return `, found ${found}`;
  return `, found ${(typeof found === 'string' ? quoted(found) : undefined) ?? kindOf(found)}`;
}

/** `"10.0.0.10" is not host:port` for `not host:port`, where the value may be quoted. */
function withFound(message: string, found: unknown, path: readonly PathSegment[]): string {
  if (!/^(?:not|neither) /.test(message) || typeof found !== 'string' || found === '' || holdsSecrets(path))
    return message;
  const value = quoted(found);
  return value === undefined ? message : `${value} is ${message}`;
}

/** zod's default messages, where a schema has none of its own. */
function isRaw(message: string): boolean {
  return /^(?:Invalid|Too (?:small|big)|Unrecognized|Expected|Required)\b/.test(message);
}

function keyMessage({ issues }: z.core.$ZodIssueInvalidKey): string {
  const message = issues[0]?.message;
  return message === undefined || isRaw(message) ? 'not a valid key' : message;
}

function sizeMessage(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): string {
  const [limit, word] = issue.code === 'too_small' ? [issue.minimum, 'at least'] : [issue.maximum, 'at most'];
  if (issue.origin === 'string' || issue.origin === 'array') {
    if (issue.code === 'too_small' && limit === 1) return 'must not be empty';
    return `must have ${word} ${limit} ${issue.origin === 'string' ? 'characters' : 'entries'}`;
  }
  return `must be ${word} ${limit}`;
}

const FORMATS: Readonly<Record<string, string>> = {
  ipv4: 'not an IP address',
  ipv6: 'not an IP address',
  datetime: 'not an RFC 3339 time, such as "2026-01-31T12:00:00Z"',
};

function formatMessage(issue: z.core.$ZodIssueInvalidStringFormat): string {
  return FORMATS[issue.format] ?? 'not in the form that is expected here';
}

/** The best matching alternative of a union provides the message; otherwise the union itself. */
function fromUnion(
  issue: z.core.$ZodIssueInvalidUnion,
  schema: z.ZodType,
  value: unknown,
  at: readonly PathSegment[],
  path: readonly PathSegment[],
): Finding[] {
  const choice = fromChoice(issue, schema, value, path) ?? fromDiscriminator(issue, schema, value, path);
  if (choice !== undefined) return choice;
  const found = valueAt(value, segmentsOf(issue));
  const closest = issue.errors
    .filter((errors) => !errors.some((error) => isOfOtherType(error, found)))
    .sort((a, b) => foreignKeys(a) - foreignKeys(b) || a.length - b.length)[0];
  const isVague = (error: z.core.$ZodIssue): boolean => error.code === 'custom' && isRaw(error.message);
  const deep = closest?.filter((error) => error.code !== 'unrecognized_keys' && !isVague(error)) ?? [];
  if (closest === undefined || deep.length === 0) {
    const message = isRaw(issue.message) ? 'none of the forms that are allowed here' : issue.message;
    const isWrongType = closest === undefined || !closest.some(isVague);
    const code = found === undefined ? 'MissingField' : isWrongType ? 'InvalidType' : 'InvalidValue';
    const isExpectation = message.startsWith('expected') && !holdsSecrets(path);
    return [
      {
        code,
        path,
        message: `${message}${isExpectation ? foundInstead(found) : ''}`,
      },
    ];
  }
  return deep.flatMap((error) =>
    fromIssue({ ...error, path: [...issue.path, ...error.path] } as z.core.$ZodIssue, schema, value, at),
  );
}

/** Whether an alternative of a union takes no value of this type at all. */
function isOfOtherType(issue: z.core.$ZodIssue, found: unknown): boolean {
  if (issue.path.length > 0) return false;
  if (issue.code === 'invalid_union')
    return issue.errors.every((each) => each.some((one) => isOfOtherType(one, found)));
  return (
    issue.code === 'invalid_type' || (issue.code === 'invalid_value' && found !== null && typeof found === 'object')
  );
}

/** How many keys of a map an alternative does not have: that with the fewest is meant. */
function foreignKeys(issues: readonly z.core.$ZodIssue[]): number {
  return issues.flatMap((issue) => (issue.code === 'unrecognized_keys' && issue.path.length === 0 ? issue.keys : []))
    .length;
}

/** A map whose `type`, or its like, is none of those that exist. */
function fromDiscriminator(
  issue: z.core.$ZodIssueInvalidUnion,
  schema: z.ZodType,
  value: unknown,
  path: readonly PathSegment[],
): Finding[] | undefined {
  if (!('discriminator' in issue) || typeof issue.discriminator !== 'string') return undefined;
  const { discriminator } = issue;
  const inner = segmentsOf(issue);
  const map = inner.at(-1) === discriminator ? inner.slice(0, -1) : inner;
  const found = valueAt(value, [...map, discriminator]);
  const values = schemasAt(schema, map)
    .filter(isObject)
    .flatMap((item) => [...(item._zod.def.shape[discriminator]?._zod.values ?? [])].map(String));
  if (values.length === 0) return undefined;
  if (found === undefined) {
    const message = `"${discriminator}" is missing`;
    return [{ code: 'MissingField', path, message, hint: `one of ${values.join(', ')}` }];
  }
  const near = typeof found === 'string' ? nearestNames(found, values) : [];
  const message = `expected one of ${values.join(', ')}${foundInstead(found)}`;
  return [{ code: 'InvalidType', path, message, ...(near.length === 0 ? {} : { hint: didYouMean(near) }) }];
}

/** Maps that each require a different field, none of which is given. */
function fromChoice(
  issue: z.core.$ZodIssueInvalidUnion,
  schema: z.ZodType,
  value: unknown,
  path: readonly PathSegment[],
): Finding[] | undefined {
  const inner = segmentsOf(issue);
  const found = valueAt(value, inner);
  if (found === null || typeof found !== 'object' || Array.isArray(found) || found instanceof Verbatim)
    return undefined;
  const known = keysAt(schema, inner);
  const given = Object.keys(found);
  const needed = issue.errors.flatMap(([first]) =>
    first?.path.length === 1 && !given.includes(String(first.path[0])) ? [String(first.path[0])] : [],
  );
  if (new Set(needed).size < 2 || given.some((key) => known.includes(key))) return undefined;
  if (given.length > 0)
    return given
      .slice(0, 2 * MOST_PROBLEMS)
      .map((key) => unknownKey([...path, key], { known, value: valueAt(found, [key]) }));
  const names = [...new Set(needed)];
  const message = `none of ${names.slice(0, -1).join(', ')} and ${names.at(-1)} is given`;
  return [{ code: 'MissingField', path, message, hint: 'give one of them' }];
}

function article(expected: string): string {
  const names: Readonly<Record<string, string>> = {
    object: 'a map',
    record: 'a map',
    array: 'a list',
    int: 'a whole number',
    number: 'a number',
    string: 'a string',
    boolean: 'true or false',
  };
  return names[expected] ?? expected;
}

function kindOf(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (value instanceof Verbatim) return 'a number';
  if (typeof value === 'object') return 'a map';
  return `a ${typeof value}`;
}
