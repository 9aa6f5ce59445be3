import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { schemaFindings } from '@machineadm/document/schema/issues.ts';
import { Verbatim } from '@machineadm/document/values/verbatim.ts';
import * as z from 'zod';

/** As a user reads it: `a.b InvalidType: expected a map, found nothing (write it so)`. */
function told(schema: z.ZodType, value: unknown, at: readonly string[] = []): readonly string[] {
  return schemaFindings(schema, value, at).map(({ code, path, message, hint, key, hidesKey }) =>
    [
      `${path.join('.')} ${code}: ${message}`,
      key === undefined ? '' : ` [${hidesKey === true ? 'hidden' : key}]`,
      hint === undefined ? '' : ` (${hint})`,
    ].join(''),
  );
}

const MODES = z.enum(['Always', 'Never']);
const DISK = z.strictObject({ kind: z.literal('disk'), device: z.string(), size: z.int().optional() });
const FOLDER = z.strictObject({ kind: z.literal('folder'), path: z.string() });
const STORE = z.union([DISK, FOLDER]);
const SOURCE = z.union([z.strictObject({ file: z.string() }), z.strictObject({ env: z.string() })]);

describe('a problem of a value in the schema', () => {
  const table: readonly (readonly [string, z.ZodType, unknown, readonly string[]])[] = [
    ['nothing, where it is right', z.strictObject({ a: z.boolean() }), { a: true }, []],
    // Types.
    ...['yes', 'no', 'On', 'off', 'true', 'FALSE'].map(
      (word): readonly [string, z.ZodType, unknown, readonly string[]] => [
        `that ${word} in quotes is to be true or false`,
        z.object({ a: z.boolean() }),
        { a: word },
        ['a InvalidType: expected true or false, found a string (write true or false, without quotes)'],
      ],
    ),
    [
      'no such hint for another word',
      z.object({ a: z.boolean() }),
      { a: 'yes please' },
      ['a InvalidType: expected true or false, found a string'],
    ],
    [
      'no such hint for a number',
      z.object({ a: z.boolean() }),
      { a: 1 },
      ['a InvalidType: expected true or false, found a number'],
    ],
    [
      'no such hint for a list',
      z.object({ a: z.array(z.string()) }),
      { a: 'yes' },
      ['a InvalidType: expected a list, found a string (write ["yes"])'],
    ],
    // What was probably meant: the hint is a value that the schema accepts.
    ...(
      [
        [z.string().regex(/^\d+[smh]$/, 'not a duration'), 90, 'expected a string, found a number', 'write "90s"'],
        [z.string().regex(/^v\d/, 'not a version'), 5, 'expected a string, found a number', 'write a version'],
        [z.array(z.string()), 'a, b c', 'expected a list, found a string', 'write [a, b, c]'],
        [z.array(z.string()), 'x=y', 'expected a list, found a string', 'make it a list: [VALUE]'],
        [
          z.array(DISK),
          { kind: 'disk', device: 'a' },
          'expected a list, found a map',
          'make it an entry of a list: begin its first line with "- "',
        ],
        [z.string(), ['a'], 'expected a string, found a list', 'write its only entry, without the list'],
        [z.record(z.string(), z.string()), ['a=b'], 'expected a map, found a list', 'write a map: {KEY: VALUE}'],
        [z.union([z.int(), z.string()], 'expected a setting'), true, 'expected a setting, found true', 'write 1'],
        [z.number(), '12', 'expected a number, found a string', 'write it without quotes'],
      ] as const
    ).map(([field, value, message, hint]): readonly [string, z.ZodType, unknown, readonly string[]] => [
      `${hint}, for ${JSON.stringify(value)}`,
      z.object({ a: field }),
      { a: value },
      [`a InvalidType: ${message} (${hint})`],
    ]),
    [
      'no value of a field that may hold a secret, nor of a map with such a key',
      z.object({ token: z.array(z.string()), a: z.array(z.strictObject({ password: z.string() })) }),
      { token: 'hunter', a: 'hunter' },
      [
        'token InvalidType: expected a list, found a string (make it a list: [VALUE])',
        'a InvalidType: expected a list, found a string',
      ],
    ],
    ...(
      [
        [5, 'a number'],
        [true, 'a boolean'],
        [new Verbatim('1.0'), 'a number'],
      ] as const
    ).map(([value, kind]): readonly [string, z.ZodType, unknown, readonly string[]] => [
      `that ${kind} (${value}) is to be a text`,
      z.object({ a: z.string() }),
      { a: value },
      [`a InvalidType: expected a string, found ${kind} (write it in quotes)`],
    ]),
    ['no quotes for a map', z.object({ a: z.string() }), { a: {} }, ['a InvalidType: expected a string, found a map']],
    [
      'no quotes for nothing',
      z.object({ a: z.string() }),
      { a: null },
      ['a InvalidType: expected a string, found nothing'],
    ],
    [
      'that a number is no whole one',
      z.object({ a: z.int() }),
      { a: 1.5 },
      ['a InvalidType: expected a whole number, found a number'],
    ],
    [
      'no quotes where a number is asked for',
      z.object({ a: z.int() }),
      { a: true },
      ['a InvalidType: expected a number, found a boolean'],
    ],
    [
      'that a list is no map',
      z.object({ a: z.object({}) }),
      { a: [] },
      ['a InvalidType: expected a map, found a list'],
    ],
    [
      'that a text is no map of names',
      z.object({ a: z.record(z.string(), z.string()) }),
      { a: 'x' },
      ['a InvalidType: expected a map, found a string'],
    ],
    [
      'that a text is no number',
      z.object({ a: z.number() }),
      { a: 'x' },
      ['a InvalidType: expected a number, found a string'],
    ],
    [
      'the words of the schema, where it has some',
      z.object({ a: z.string('expected a name') }),
      { a: [] },
      ['a InvalidType: expected a name, found a list'],
    ],
    // What is missing, and what is too much.
    [
      'which key is missing, at the map',
      z.object({ a: z.object({ b: z.string() }) }),
      { a: {} },
      ['a MissingField: "b" is missing (add b)'],
    ],
    [
      'which key was meant',
      z.strictObject({ mode: z.string() }),
      { mode: 'x', mdoe: 'y' },
      ['mdoe UnknownField: unknown key [mdoe] (did you mean "mode"?)'],
    ],
    [
      'what is known, for a key that resembles none',
      z.strictObject({ mode: z.string() }),
      { mode: 'x', password: 'y' },
      ['password UnknownField: unknown key [password] (known here: mode)'],
    ],
    // Values.
    ['which values there are', MODES, 'x', [' InvalidValue: expected one of Always, Never, found "x"']],
    [
      'which value was meant',
      MODES,
      'never',
      [' InvalidValue: expected one of Always, Never, found "never" (did you mean "Never"?)'],
    ],
    [
      'that one of the values is missing',
      z.object({ a: MODES }),
      {},
      ['a MissingField: expected one of Always, Never'],
    ],
    ['the only value', z.literal('v1'), 'v2', [' InvalidValue: expected v1, found "v2" (did you mean "v1"?)']],
    ['the words of the schema about a value', z.enum(['a', 'b'], 'a letter'), 'xyz', [' InvalidValue: a letter']],
    [
      'that a value is none, in the words of no library',
      z.string().refine((text) => text === 'a'),
      'b',
      [' InvalidValue: "b" is not a value that is allowed here'],
    ],
    ['why a value is none', z.string().refine((text) => text === 'a', 'only a'), 'b', [' InvalidValue: only a']],
    // Sizes and formats.
    ['that a text is empty', z.string().min(1), '', [' InvalidValue: must not be empty']],
    ['that a list is empty', z.array(z.string()).min(1), [], [' InvalidValue: must not be empty']],
    ['how long a text must be', z.string().min(2), 'a', [' InvalidValue: must have at least 2 characters']],
    ['how long a text may be', z.string().max(1), 'ab', [' InvalidValue: must have at most 1 characters']],
    [
      'how many entries there may be',
      z.array(z.string()).max(1),
      ['a', 'b'],
      [' InvalidValue: must have at most 1 entries'],
    ],
    ['how small a number may be', z.number().min(1), 0, [' InvalidValue: must be at least 1']],
    ['how large a number may be', z.number().max(9), 10, [' InvalidValue: must be at most 9']],
    ['its own words for a size', z.number().max(9, 'a digit'), 10, [' InvalidValue: a digit']],
    ['that it is no address', z.ipv4(), 'x', [' InvalidValue: "x" is not an IP address']],
    ['that it is no address of the other family', z.ipv6(), 'x', [' InvalidValue: "x" is not an IP address']],
    [
      'that it is no time',
      z.iso.datetime(),
      'x',
      [' InvalidValue: "x" is not an RFC 3339 time, such as "2026-01-31T12:00:00Z"'],
    ],
    [
      'that another format is not met',
      z.string().regex(/^a$/),
      'x',
      [' InvalidValue: "x" is not in the form that is expected here'],
    ],
    ['its own words for a format', z.string().regex(/^a$/, 'only a'), 'x', [' InvalidValue: only a']],
    [
      'that a key is none, with its name in the message',
      z.record(z.string().regex(/^a$/), z.string()),
      { secret: 'x' },
      ['secret InvalidValue: "secret" is not a valid key [hidden]'],
    ],
    [
      'why a key is none',
      z.record(z.string().regex(/^a$/, 'only a'), z.string()),
      { secret: 'x' },
      ['secret InvalidValue: only a [hidden]'],
    ],
    // One of several.
    ['what the kind that was chosen lacks', STORE, { kind: 'folder' }, [' MissingField: "path" is missing (add path)']],
    [
      'that a key is of another kind',
      z.object({ a: STORE }),
      { a: { kind: 'folder', path: '/', device: 'b' } },
      ['a.device UnknownField: unknown key [device] (only another type has it; this type has kind, path)'],
    ],
    [
      'which key of the chosen kind was meant',
      z.object({ a: z.array(STORE) }),
      { a: [{ kind: 'disk', device: 'b', sise: 1 }] },
      ['a.0.sise UnknownField: unknown key [sise] (did you mean "size"?)'],
    ],
    [
      'that none of several keys is given',
      SOURCE,
      {},
      [' MissingField: none of file and env is given (give one of them)'],
    ],
    ['that keys are of no form', SOURCE, { fil: 'x' }, ['fil UnknownField: unknown key [fil] (did you mean "file"?)']],
    [
      'that it is of no form',
      z.object({ a: z.union([z.string(), z.int()]) }),
      { a: [] },
      ['a InvalidType: none of the forms that are allowed here'],
    ],
    [
      'that it is missing in every form',
      z.object({ a: z.union([z.string(), z.int()]) }),
      {},
      ['a MissingField: none of the forms that are allowed here'],
    ],
    [
      'its own words for all forms',
      z.union([z.string(), z.int()], 'a text or a number'),
      [],
      [' InvalidType: a text or a number'],
    ],
    [
      'which key of a map in a map was meant',
      z.record(z.string(), z.strictObject({ mode: z.string().optional() }).optional()),
      { a: { mdoe: 'x' } },
      ['a.mdoe UnknownField: unknown key [mdoe] (did you mean "mode"?)'],
    ],
  ];
  for (const [what, schema, value, expected] of table)
    test(what, () => assert.deepEqual(told(schema, value), expected));

  test('is placed below the path of the part', () => {
    assert.deepEqual(told(z.object({ a: z.int() }), { a: 'x' }, ['host', 'time']), [
      'host.time.a InvalidType: expected a number, found a string',
    ]);
  });

  test('is only counted beyond the first four hundred', () => {
    const findings = schemaFindings(
      z.array(z.int()),
      Array.from({ length: 450 }, () => 'x'),
      ['list'],
    );
    assert.equal(findings.length, 450);
    assert.equal(findings[400]?.message, 'expected a number, found a string');
    assert.deepEqual(findings[401], { code: 'InvalidValue', path: ['list', 401], message: '' });
  });
});
