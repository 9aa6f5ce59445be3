import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { builtSchema, isOptional, REFUSED, take } from '@machineadm/document/schema/zod.ts';
import { Verbatim } from '@machineadm/document/values/verbatim.ts';
import { exampleDocument } from '@machineadm/document/versions/example.ts';
import { jsonSchema } from '@machineadm/document/versions/json-schema.ts';
import { sections } from '@machineadm/document/versions/v1alpha1/sections.ts';
import { parse } from 'yaml';
import type { Vector } from '../../../scripts/generate/vectors.ts';
import fc from '../../support/property.ts';
import { changedDocuments } from '../../support/schema-arbitrary.ts';

type Document = Readonly<Record<string, unknown>>;

class Counts {
  right = 0;
  wrong = 0;
}

/** Asks both halves of the schema of each section about its value: they must say the same. */
function compare(document: Document, counts: Counts): void {
  for (const [name, { schema }] of Object.entries(sections)) {
    if (!Object.hasOwn(document, name)) continue;
    const value = document[name];
    const built = builtSchema(schema).safeParse(value);
    const taken = take(schema, value);
    if (taken !== REFUSED) {
      assert.ok(built.success, `${name}: ${JSON.stringify(value)}`);
      // Also in the order of keys, which files are written in.
      assert.deepEqual([taken, JSON.stringify(taken)], [built.data, JSON.stringify(built.data)]);
    } else if (built.success) {
      assert.ok(!isDeepStrictEqual(built.data, value), `${name} is left to zod: ${JSON.stringify(value)}`);
    }
    counts[built.success ? 'right' : 'wrong']++;
  }
}

const FOLDER = resolve(import.meta.dirname, '../../../contract/vectors');

/** The published vectors and the examples, as far as they are maps. */
function documents(): readonly Document[] {
  const vectors = readdirSync(FOLDER)
    .filter((file) => file.endsWith('.json'))
    .flatMap((file) => JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as readonly Vector[]);
  const texts = [
    ...vectors.map(({ document }) => document),
    exampleDocument('InitControlPlane'),
    exampleDocument('Worker'),
  ];
  return texts.flatMap((text): readonly Document[] => {
    try {
      const value: unknown = parse(text);
      return typeof value === 'object' && value !== null && !Array.isArray(value) ? [value as Document] : [];
    } catch {
      return [];
    }
  });
}

const ODD: readonly unknown[] = [
  null,
  undefined,
  true,
  -1,
  2 ** 60,
  0.5,
  '',
  'a\n',
  '\u{1f600}'.repeat(300),
  [],
  [null],
  {},
  { constructor: 1 },
  new Verbatim('1e3'),
  new Map(),
  Object.assign(Object.create(null) as object, { name: 'a' }),
];

/** The value with an odd one in each of its places in turn, and with a key more in each of its maps. */
function* oddities(value: unknown): Generator {
  yield* ODD;
  if (typeof value !== 'object' || value === null) return;
  for (const [key, part] of Object.entries(value)) {
    for (const odd of oddities(part))
      yield Array.isArray(value) ? value.with(Number(key), odd) : { ...value, [key]: odd };
  }
  if (Array.isArray(value)) return;
  yield { ...value, foreign: 1 };
  yield Object.fromEntries(Object.entries(value).reverse());
}

test('both halves of the schemas give the published vectors and the examples the same verdict', () => {
  const counts = new Counts();
  for (const document of documents()) compare(document, counts);
  assert.ok(counts.right > 400 && counts.wrong > 100, JSON.stringify(counts));
});

test('both halves give an odd value in any place the same verdict', () => {
  const counts = new Counts();
  for (const name of Object.keys(sections)) {
    const longest = documents()
      .flatMap((document) => (Object.hasOwn(document, name) ? [document[name]] : []))
      .sort((a, b) => JSON.stringify(b).length - JSON.stringify(a).length);
    for (const value of longest.slice(0, 3)) for (const odd of oddities(value)) compare({ [name]: odd }, counts);
  }
  assert.ok(counts.right > 100 && counts.wrong > 1000, JSON.stringify(counts));
});

test('both halves give documents made of examples the same verdict', () => {
  const counts = new Counts();
  fc.assert(
    fc.property(changedDocuments(jsonSchema() ?? {}), (document) => compare(document as Document, counts)),
    { numRuns: 300 },
  );
  assert.ok(counts.right > 100 && counts.wrong > 20, JSON.stringify(counts));
});

test('both halves know which sections may be absent', () => {
  for (const [name, { schema }] of Object.entries(sections))
    assert.equal(isOptional(schema), builtSchema(schema).safeParse(undefined).success, name);
});
