import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { type Diagnostic, formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { toPlain } from '@machineadm/document/trees/tree.ts';
import { Verbatim } from '@machineadm/document/values/verbatim.ts';
import { resolvePlain } from '@machineadm/document/yaml/core-schema.ts';
import { parseYaml } from '@machineadm/document/yaml/parse.ts';
import { parseAllDocuments, stringify } from 'yaml';
import { attack } from '../../../support/attacks.ts';
import fc from '../../../support/property.ts';

function read(text: string): { readonly value: unknown; readonly problems: readonly Diagnostic[] } {
  const problems: Diagnostic[] = [];
  const tree = parseYaml('d', text, problems);
  return { value: tree === undefined ? undefined : asNumbers(toPlain(tree)), problems };
}

/** The library knows numbers of JavaScript only; a zero has a sign there, and none in what reads the document. */
function asNumbers(value: unknown): unknown {
  if (value instanceof Verbatim) return asNumbers(resolvePlain(value.text).value);
  if (value === 0) return 0;
  if (Array.isArray(value)) return value.map(asNumbers);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, asNumbers(part)]));
}

/** What the library yaml reads, in its strictest mode; undefined for what it refuses or what a document may not be. */
function reference(text: string): unknown {
  const documents = parseAllDocuments(text, {
    version: '1.2',
    schema: 'core',
    prettyErrors: false,
    logLevel: 'silent',
  });
  const [document] = documents;
  if (!Array.isArray(documents) || document === undefined || documents.length > 1) return undefined;
  if (document.errors.length > 0 || document.warnings.length > 0) return undefined;
  try {
    return asNumbers(document.toJS({ maxAliasCount: 1000 }));
  } catch {
    return undefined; // an alias without its anchor
  }
}

const FIXTURES = ['capi', 'kubeadm', 'hardening/rendered'].flatMap((directory) => {
  const path = new URL(`../../../fixtures/${directory}/`, import.meta.url);
  return readdirSync(path)
    .filter((name) => /\.ya?ml$/.test(name))
    .map((name) => readFileSync(new URL(name, path), 'utf8'));
});

const SPECIMENS = [
  'a: 1\nb:\n  - x\n  - y: 2\n    z: 3\nc:\n- p\n- - q\n  - r\n',
  'a: |\n  x\n   y\n\n  z\nb: >-\n  p\n  q\n\n  r\nc: |+\n  k\n\nd: |2\n    four\n',
  'k: "a\\n b\\\n   c"\nl: \'it\'\'s\'\nm: {a: 1, b: [x, y], "c":d}\n',
  'a: &x {b: 1}\nc: *x\nd: !!str 1\ne: &l\n  - *x\n',
  '? a\n: b\n? c\n',
  '%YAML 1.2\n---\na: b\n  c d\n# x\ne: f # g\n...\n',
];

describe('YAML as the library reads it', () => {
  test('every block, flow and quoted form of a value', () => {
    const forms = fc.record({
      value: fc
        .jsonValue({ maxDepth: 4 })
        .filter((value) => value !== null && !JSON.stringify(value).includes('__proto__')),
      defaultStringType: fc.constantFrom('PLAIN', 'QUOTE_DOUBLE', 'QUOTE_SINGLE', 'BLOCK_LITERAL', 'BLOCK_FOLDED'),
      collectionStyle: fc.constantFrom('block', 'flow', 'any'),
      indent: fc.integer({ min: 1, max: 6 }),
      indentSeq: fc.boolean(),
      lineWidth: fc.constantFrom(0, 20, 80),
    });
    fc.assert(
      fc.property(forms, ({ value, ...options }) => {
        const text = stringify(value, { version: '1.2', schema: 'core', ...options } as object);
        const expected = reference(text);
        const { value: found, problems } = read(text);
        if (
          expected !== undefined &&
          expected !== null &&
          problems.every(({ message }) => !/control|half/.test(message))
        ) {
          assert.deepEqual(problems, [], text);
          assert.deepEqual(found, expected, text);
        }
      }),
      { numRuns: 400 },
    );
  });

  test('a block with a stated indentation that is the whole document', () => {
    for (const text of ['|1-\n !\n', '|1-\n  !\n', '|2\n    x\n  y\n', 'a: |1-\n  !\n']) {
      assert.deepEqual(read(text).value, reference(text), text);
    }
  });

  test('texts with damage: never another value, one problem, its place within its line', () => {
    const bits = fc.constantFrom(
      ...[
        ' ',
        '  ',
        '\n',
        '\n\n',
        ': ',
        ':',
        '- ',
        '-',
        '"',
        "'",
        '#',
        ' #',
        '[',
        ']',
        '{',
        '}',
        ',',
        '|',
        '>',
        '|+\n',
        '&a ',
        '*a',
      ],
      ...[
        '!!str ',
        '! ',
        '? ',
        'a',
        '1.0',
        '~',
        '0x1f',
        '\t',
        '\\',
        '...',
        '---\n',
        '%',
        '@',
        '`',
        'a: ',
        '- a\n',
        '\n    ',
      ],
    );
    const text = fc.oneof(
      fc.constantFrom(...SPECIMENS),
      fc
        .tuple(fc.constantFrom(...FIXTURES), fc.nat(), fc.integer({ min: 1, max: 15 }))
        .map(([fixture, start, count]) => {
          const lines = fixture.split('\n');
          return lines.slice(start % lines.length, (start % lines.length) + count).join('\n');
        }),
      fc.array(bits, { maxLength: 12 }).map((parts) => parts.join('')),
    );
    const damage = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 3 }), bits), { maxLength: 3 });
    fc.assert(
      fc.property(text, damage, (whole, changes) => {
        const damaged = changes.reduce((now, [at, cut, bit]) => {
          const place = at % (now.length + 1);
          return now.slice(0, place) + bit + now.slice(place + cut);
        }, whole);
        const { value, problems } = read(damaged);
        const lines = damaged.split('\n');
        for (const { place } of problems) {
          const line = lines[place.line - 1];
          assert.ok(line !== undefined && place.column >= 1 && place.column <= Math.max(1, line.length), damaged);
        }
        const distinct = problems.filter(({ message }) => message !== 'the key is given twice');
        assert.ok(distinct.length <= 1, problems.map(formatDiagnostic).join('\n'));
        // Where the library leaves YAML 1.2.2, and PyYAML and Go do not: it drops empty lines after an escaped line break
        // (7.3.1), and blanks at the end of a block that are deeper than its indentation (8.1.2).
        const differs = /\\\n[ \t]*\n/.test(damaged) || (/[|>]/.test(damaged) && /\n +(?:\n|$)/.test(damaged));
        const expected = differs ? undefined : reference(damaged);
        if (problems.length === 0 && expected !== undefined) assert.deepEqual(value, expected, damaged);
      }),
      { numRuns: 3000 },
    );
  });

  test('the fixtures', () => {
    for (const text of FIXTURES) {
      const expected = reference(text);
      if (expected === undefined || expected === null) continue;
      assert.deepEqual(read(text), { value: expected, problems: [] });
    }
  });
});

describe('what is not YAML', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['a second colon', 'a: b: c\n', '1:5  not YAML: a second ":" in one value'],
    ['a key in a value', 'a: b\n  c: d\n', '2:4  not YAML: a key that is indented deeper than the key above it'],
    ['a blank too many', 'a:\n  b: 1\n   c: 2\n', '3:5  not YAML: a key that is indented deeper than the key above it'],
    ['a blank too few', 'a:\n  b: 1\n c: 2\n', '3:2  not YAML: a line that is indented deeper'],
    ['a tab', 'a:\n\tb: 1\n', '2:1  not YAML: a tab in the indentation (hint: indent with spaces)'],
    ['a tab after a dash', '-\ta: 1\n', '1:2  not YAML: a tab in the indentation'],
    ['a list beside its key', 'a: - b\n', '1:4  not YAML: a list item in the line of its key'],
    ['a list among keys', 'a: 1\n- b\n', '2:1  not YAML: a list item among the keys of a map'],
    ['a word among keys', 'a: 1\nb\n', '2:1  not YAML: a line that is neither a key with ":" nor part of a value'],
    ['an open list', 'a: [1,\n  2\nb: 3\n', '1:4  not YAML: a collection that is never closed'],
    ['an open map at the end', 'a: {', '1:4  not YAML: a collection that is never closed'],
    ['no comma', 'a: ["1" "2"]\n', '1:9  not YAML: "," or "]" is missing'],
    ['open quotes', 'a: "b\nc: d\n', '1:4  not YAML: a quoted text that is never closed'],
    ['open single quotes', "a: 'b\n", '1:4  not YAML: a quoted text that is never closed'],
    ['text after quotes', 'a: "b" c\n', '1:8  not YAML: text after the end of a value'],
    ['an unknown escape', 'a: "\\y"\n', '1:5  not YAML: an unknown escape sequence'],
    ['a reserved character', 'a: @b\n', '1:4  not YAML: a character that begins no value'],
    ['text beside |', 'a: | b\n', '1:6  not YAML: text in the line of | or >'],
    ['a tag of others', 'a: !x b\n', '1:4  not YAML: a tag that is not of YAML 1.2'],
    ['a tag that does not fit', 'a: !!int b\n', '1:4  not YAML: a tag that does not fit its value'],
    ['an alias of nothing', 'a: *b\n', '1:4  not YAML: an alias without an anchor of its name before it'],
    ['an alias before its anchor', 'a: *b\nc: &b 1\n', '1:4  not YAML: an alias without an anchor'],
    ['a carriage return in a line', 'a: b\rc: d\n', '1:5  a control character'],
    ['a control character', 'a: 1\nb: x\u0007\n', '2:5  a control character'],
    ['half of a surrogate pair', 'a: "\\ud800"\n', '1:4  half of a character'],
    ['a number as a key', '1: a\n', '1:1  a key that is not a string'],
    ['a list as a key', '? [a]\n: b\n', '1:3  a key that is not a string'],
    ['a second document', 'a: 1\n---\nb: 2\n', '2:1  more than one YAML document in one source'],
    ['a long key', `a: 1\n${'k'.repeat(2000)}: 1\n`, '2:1  not YAML: a line that is neither a key'],
  ];
  for (const [what, text, expected] of cases) {
    test(`${what} is one problem, in its place`, () => {
      const told = read(text).problems.map(formatDiagnostic);
      assert.equal(told.length, 1, told.join('\n'));
      assert.ok(told[0]?.startsWith(`d:${expected}`), told[0]);
    });
  }

  test('is reported without quoting the text', () => {
    const canary = 'Xc4n4ry';
    for (const [, text] of cases) {
      const seeded = text.replaceAll(/[a-d](?=\W)|(?<=\W)[a-d]/g, canary);
      for (const problem of read(seeded).problems.filter(({ message }) => message !== 'the key is given twice')) {
        assert.ok(!formatDiagnostic(problem).includes(canary), formatDiagnostic(problem));
      }
    }
  });
});

describe('numbers', () => {
  test('keep the text they are written with', () => {
    const texts = [
      '18446744073692774399',
      '1e21',
      '0x10',
      '0o17',
      '-0',
      '.inf',
      '-.INF',
      '.nan',
      '1.0',
      '+1',
      '1.',
      '.5',
      '007',
    ];
    for (const text of texts) {
      const tree = parseYaml('d', `a: ${text}\n`, []);
      const entry = tree?.kind === 'map' ? tree.entries.get('a')?.value : undefined;
      assert.ok(entry?.kind === 'scalar');
      assert.equal(typeof entry.value, 'number');
      assert.equal(entry.number, text);
    }
  });

  test('are those of YAML 1.2, and no others', () => {
    for (const text of ['1_000', '0b1', '1:30', 'yes', '0x', '1e', '--1', '0o8', '.Inf.', 'NAN', '1,0']) {
      assert.equal(read(`[${text.includes(',') ? `"${text}"` : text}]`).problems.length, 0);
      assert.deepEqual(read(`a: ${text}\n`).value, { a: text });
    }
  });
});

describe('hostile texts', () => {
  const texts: Readonly<Record<string, (size: number) => string>> = {
    'blank lines': (size) => `a:\n${'\n'.repeat(size)}  b: 1\n`,
    'quotation marks': (size) => `a: ${'"'.repeat(size)}`,
    'doubled quotation marks': (size) => `a: ${"'".repeat(size)}`,
    keys: (size) => Array.from({ length: size / 8 }, (_, index) => `k${index}: 1`).join('\n'),
    'a long key': (size) => `${'k'.repeat(size)}: 1`,
    dashes: (size) => '- '.repeat(size / 2),
    'open brackets': (size) => '['.repeat(size),
    'open braces': (size) => '{'.repeat(size),
    colons: (size) => ': '.repeat(size / 2),
    anchors: (size) => Array.from({ length: size / 12 }, (_, index) => `k${index}: &a${index} 1`).join('\n'),
    'aliases of a large part': (size) => `a: &a [${'1,'.repeat(size / 4)}]\nb:\n${'- *a\n'.repeat(size / 8)}`,
    'one anchor inside of another': (size) => `${'&a [ '.repeat(size / 5)}`,
    comments: (size) => `a:\n${'# x\n'.repeat(size / 4)}  b: 1\n`,
    'lines of a folded text': (size) => `a: >\n${'  x\n\n'.repeat(size / 5)}`,
    'lines of a plain text': (size) => `a: x\n${'  x\n\n'.repeat(size / 5)}`,
    'lines in quotes': (size) => `a: "${'x  \n'.repeat(size / 4)}"`,
    blanks: (size) => `a:${' '.repeat(size)}b`,
    tabs: (size) => `a:\n${'\t'.repeat(size)}`,
  };
  for (const [what, make] of Object.entries(texts)) {
    test(
      `${what}: four times the text costs about four times the time`,
      attack('Hostile texts', 'a document that makes the parser slow', () => {
        // The least of several measurements: others use the machine, too.
        const cost = (size: number): number => {
          const text = make(size);
          return Math.min(
            ...Array.from({ length: 5 }, () => {
              const before = process.cpuUsage();
              read(text);
              const { user, system } = process.cpuUsage(before);
              return user + system;
            }),
          );
        };
        cost(20_000);
        const [small, large] = [cost(20_000), cost(80_000)];
        assert.ok(large < 12 * Math.max(small, 2_000), `${small} µs, ${large} µs`);
        return 1;
      }),
    );
  }

  test(
    'aliases that repeat a large part are refused where they do',
    attack('Bombs', 'aliases that repeat a large part', () => {
      const text = `a: &a [${'1,'.repeat(50)}]\nb:\n${'- *a\n'.repeat(4000)}`;
      const [problem] = read(text).problems;
      assert.equal(problem?.message, 'the document expands to too many parts');
      assert.equal(problem?.place.column, 3);
      return 1;
    }),
  );
});
