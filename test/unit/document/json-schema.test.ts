import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import { jsonSchema } from '../../../src/document/json-schema.ts';

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

const GO = ['/usr/bin/go', '/usr/local/go/bin/go', ...globSync('/usr/lib/go-*/bin/go')].find((path) =>
  existsSync(path),
);

describe('the published JSON Schema', () => {
  test('compiles in the strict mode of ajv, without formats', () => {
    assert.equal(typeof new Ajv2020({ strict: true }).compile(schema), 'function');
  });

  test('has patterns that RE2 reads', () => {
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
});
