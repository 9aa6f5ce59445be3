import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { DOCUMENT_VERSIONS } from '@machineadm/document/index.ts';
import { jsonSchema } from '@machineadm/document/versions/json-schema.ts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import { documentSchema } from '../../../scripts/generate/document-schema/index.ts';
import { valueMeanings } from '../../../scripts/generate/editor-schema.ts';
import { publishedSchema, schemaOfFields } from '../../support/published-schema.ts';

const schema = jsonSchema() ?? {};

/** Every schema in a schema, with its JSON pointer. */
function* parts(value: unknown, pointer = ''): Generator<{ pointer: string; part: Record<string, unknown> }> {
  if (value === null || typeof value !== 'object') return;
  if (!Array.isArray(value)) yield { pointer, part: value as Record<string, unknown> };
  for (const [key, child] of Object.entries(value)) {
    // What is in an example, a default or a constant is no schema.
    if (!['examples', 'default', 'const', 'enum'].includes(key)) yield* parts(child, `${pointer}/${key}`);
  }
}

const patterns = [...parts(schema)].flatMap(({ pointer, part }) =>
  typeof part.pattern === 'string' ? [{ pointer, pattern: part.pattern }] : [],
);

const fields = [...parts(schema)].flatMap(({ pointer, part }) =>
  // Conditions, which name fields without describing them, stand below allOf.
  part.type === 'object' && part.properties !== undefined && !/\/allOf\/\d/.test(pointer)
    ? Object.entries(part.properties as Record<string, Record<string, unknown>>).map(([name, field]) => ({
        pointer: `${pointer}/properties/${name}`,
        field,
        isRequired: Array.isArray(part.required) && part.required.includes(name),
      }))
    : [],
);

const GO = ['/usr/bin/go', '/usr/local/go/bin/go', ...globSync('/usr/lib/go-*/bin/go')].find((path) =>
  existsSync(path),
);

describe('the published JSON Schema', () => {
  test('compiles in the strict mode of ajv, without formats', () => {
    assert.equal(typeof publishedSchema(), 'function');
  });

  test('has patterns that RE2 accepts', () => {
    assert.ok(patterns.length > 100, `${patterns.length} patterns`);
    for (const { pointer, pattern } of patterns) assert.doesNotThrow(() => RE2JS.compile(pattern), pointer);
    assert.throws(() => RE2JS.compile('^(?!a)'), 'the judge itself');
  });

  test('has patterns that Go compiles', { skip: GO === undefined && 'Go is not installed' }, () => {
    const directory = mkdtempSync(join(tmpdir(), 'machineadm-go-'));
    try {
      writeFileSync(
        join(directory, 'main.go'),
        `package main
import ("encoding/json"; "fmt"; "os"; "regexp")
func main() {
  var patterns []string
  if err := json.NewDecoder(os.Stdin).Decode(&patterns); err != nil { panic(err) }
  for _, pattern := range patterns { regexp.MustCompile(pattern) }
  fmt.Print(len(patterns))
}`,
      );
      const run = spawnSync(GO ?? '', ['run', 'main.go'], {
        cwd: directory,
        input: JSON.stringify(patterns.map(({ pattern }) => pattern)),
        encoding: 'utf8',
        env: { PATH: '/usr/bin:/bin', HOME: directory, GOFLAGS: '-mod=mod', GO111MODULE: 'off', GOTOOLCHAIN: 'local' },
      });
      assert.deepEqual([run.stdout, run.status], [String(patterns.length), 0], run.stderr);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test('has neither formats, which engines check each in their own way or not at all, nor lists of types', () => {
    for (const { pointer, part } of parts(schema)) {
      if (pointer.endsWith('/properties')) continue;
      assert.ok(!('format' in part), pointer);
      assert.ok(!Array.isArray(part.type), pointer);
    }
  });

  test('describes each field, what its absence means, and an example', () => {
    assert.ok(fields.length > 600, `${fields.length} fields`);
    for (const { pointer, field, isRequired } of fields) {
      const { description, examples } = field;
      assert.match(String(description), /^[A-Z"].*\.$/s, pointer);
      assert.ok(Array.isArray(examples) && examples.length > 0, `${pointer} has no example`);
      const hasDefault = 'default' in field || / Default: /.test(String(description));
      assert.equal(
        hasDefault,
        !isRequired,
        `${pointer}: an optional field has a default, in words at least; no other has one`,
      );
    }
  });

  test('accepts its own examples and defaults', () => {
    const alike = schemaOfFields(schema);
    const schemas = [alike.schema];
    const ajv = new Ajv2020({ validateSchema: false, inlineRefs: false, code: { optimize: false }, schemas });
    const definitions = Object.entries(schema.$defs ?? {}).map(([name, field]: [string, Record<string, unknown>]) => ({
      pointer: `/$defs/${name}`,
      field,
    }));
    for (const { pointer, field } of [...fields, ...definitions]) {
      const accepts = ajv.compile({ $ref: alike.references.get(pointer) ?? assert.fail(pointer) });
      const values = ['default' in field ? [field.default] : [], field.examples ?? []].flat(1);
      for (const value of values)
        assert.ok(accepts(value), `${pointer}: ${JSON.stringify(value)} ${ajv.errorsText(accepts.errors)}`);
    }
  });

  test('explains each value of each enumeration to editors', () => {
    const [version] = DOCUMENT_VERSIONS;
    assert.ok(version !== undefined);
    const enums = [...parts(documentSchema(version, valueMeanings))].filter(
      ({ part }) => 'enum' in part && !('if' in part),
    );
    const published = enums.filter(({ pointer }) => !/\/(?:allOf|if|then|else|not|contains)\//.test(`${pointer}/`));
    assert.ok(published.length > 40, `${published.length} enumerations`);
    for (const { pointer, part } of published) {
      const { enum: values, enumDescriptions } = part;
      assert.ok(
        Array.isArray(values) && Array.isArray(enumDescriptions),
        `${pointer}: write it as choice({value: meaning})`,
      );
      assert.equal(enumDescriptions.length, values.length, pointer);
      for (const description of enumDescriptions) assert.match(String(description), /\S/, pointer);
    }
  });
});
