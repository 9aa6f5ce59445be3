import type * as z from 'zod';
import { choices, type Finding, MOST_PROBLEMS, nearestName, type PathSegment, unknownKey } from './diagnostics.ts';
import { REFUSED, take } from './schema.ts';
import { valueAt } from './valid-part.ts';
import { Verbatim } from './verbatim.ts';

/** A schema's findings about a value, in messages that name the remedy and quote nothing of the value. */
export function schemaFindings(schema: z.ZodType, value: unknown, at: readonly PathSegment[]): Finding[] {
  if (take(schema, value) !== REFUSED) return [];
  const result = schema.safeParse(value);
  if (result.success) return [];
  const findings: Finding[] = [];
  // Above this limit a finding only has a count and a place.
  for (const issue of result.error.issues) {
    if (findings.length > 2 * MOST_PROBLEMS)
      findings.push({ code: 'InvalidValue', path: [...at, ...segmentsOf(issue)], message: '' });
    else findings.push(...fromIssue(issue, schema, value, at));
  }
  return findings;
}

function segmentsOf(issue: z.core.$ZodIssue): PathSegment[] {
  return issue.path.filter((segment) => typeof segment !== 'symbol');
}

function fromIssue(issue: z.core.$ZodIssue, schema: z.ZodType, value: unknown, at: readonly PathSegment[]): Finding[] {
  const inner = segmentsOf(issue);
  const path = [...at, ...inner];
  const found = valueAt(value, inner);
  switch (issue.code) {
    case 'unrecognized_keys': {
      const known = keysAt(schema, inner, found);
      const others = keysAt(schema, inner);
      return issue.keys.slice(0, 2 * MOST_PROBLEMS).map((key) => unknownKey([...path, key], known, others));
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
          ...typeHint(issue.expected, found),
        },
      ];
    }
    case 'invalid_value': {
      const values = issue.values.map(String);
      const near = typeof found === 'string' ? nearestName(found, values) : undefined;
      const hint = near === undefined ? undefined : `did you mean "${near}"?`;
      const all = choices(values, typeof found === 'string' ? found : '');
      const message = isRaw(issue.message)
        ? `expected ${values.length > 1 ? `one of ${all}` : values[0]}`
        : issue.message;
      const code = found === undefined ? 'MissingField' : 'InvalidValue';
      return [{ code, path, message, ...(hint === undefined ? {} : { hint }) }];
    }
    case 'invalid_union':
      return fromUnion(issue, schema, value, at, path);
    case 'invalid_key':
      return [{ code: 'InvalidValue', path, key: String(path.at(-1)), hidesKey: true, message: keyMessage(issue) }];
    case 'too_small':
    case 'too_big':
      return [{ code: 'InvalidValue', path, message: isRaw(issue.message) ? sizeMessage(issue) : issue.message }];
    case 'invalid_format':
      return [{ code: 'InvalidValue', path, message: isRaw(issue.message) ? formatMessage(issue) : issue.message }];
    default:
      return [
        {
          code: 'InvalidValue',
          path,
          message: isRaw(issue.message) ? 'a value that is not allowed here' : issue.message,
        },
      ];
  }
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
  const choice = fromChoice(issue, schema, value, path);
  if (choice !== undefined) return choice;
  const closest = issue.errors
    .filter((errors) => errors.every((error) => error.code !== 'invalid_type' || error.path.length > 0))
    .sort((a, b) => a.length - b.length)[0];
  const deep = closest?.filter((error) => error.code !== 'unrecognized_keys') ?? [];
  if (closest === undefined || deep.length === 0) {
    return [
      {
        code: valueAt(value, segmentsOf(issue)) === undefined ? 'MissingField' : 'InvalidType',
        path,
        message: isRaw(issue.message) ? 'none of the forms that are allowed here' : issue.message,
      },
    ];
  }
  return deep.flatMap((error) =>
    fromIssue({ ...error, path: [...issue.path, ...error.path] } as z.core.$ZodIssue, schema, value, at),
  );
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
  if (given.length > 0) return given.slice(0, 2 * MOST_PROBLEMS).map((key) => unknownKey([...path, key], known));
  const names = [...new Set(needed)];
  const message = `none of ${names.slice(0, -1).join(', ')} and ${names.at(-1)} is given`;
  return [{ code: 'MissingField', path, message, hint: 'give one of them' }];
}

function typeHint(expected: string, found: unknown): { hint?: string } {
  if (expected === 'boolean' && typeof found === 'string' && /^(yes|no|on|off|true|false)$/i.test(found)) {
    return { hint: 'write true or false, without quotes' };
  }
  if (expected === 'string' && (typeof found === 'number' || typeof found === 'boolean' || found instanceof Verbatim)) {
    return { hint: 'write it in quotes' };
  }
  return {};
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

/** The keys that a schema has at a path inside it: of several objects, those that the discriminators of `found` select. */
function keysAt(schema: z.ZodType, path: readonly PathSegment[], found?: unknown): string[] {
  let current: z.core.$ZodType[] = unwrap(schema);
  for (const segment of path) current = current.flatMap((item) => childOf(item, segment)).flatMap(unwrap);
  const objects = current.filter(isObject);
  const selected = objects.filter((item) => hasDiscriminatorsOf(item, found));
  return [...new Set((selected.length > 0 ? selected : objects).flatMap((item) => Object.keys(item._zod.def.shape)))];
}

function hasDiscriminatorsOf(schema: z.core.$ZodObject, found: unknown): boolean {
  return Object.entries(schema._zod.def.shape).every(([key, { _zod }]) => {
    const given = valueAt(found, [key]);
    return _zod.def.type !== 'literal' || given === undefined || _zod.values?.has(given as string) === true;
  });
}

function childOf(schema: z.core.$ZodType, segment: PathSegment): z.core.$ZodType[] {
  if (isObject(schema)) {
    const { shape } = schema._zod.def;
    const child = Object.hasOwn(shape, segment) ? shape[String(segment)] : undefined;
    return child === undefined ? [] : [child];
  }
  const { def } = schema._zod;
  if (def.type === 'array') return [(def as z.core.$ZodArrayDef).element];
  if (def.type === 'record') return [(def as z.core.$ZodRecordDef).valueType];
  return [];
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType[] {
  const { def } = schema._zod;
  if (def.type === 'optional') return unwrap((def as z.core.$ZodOptionalDef).innerType);
  if (def.type === 'union') return (def as z.core.$ZodUnionDef).options.flatMap(unwrap);
  return [schema];
}

function isObject(schema: z.core.$ZodType): schema is z.core.$ZodObject {
  return schema._zod.def.type === 'object';
}
