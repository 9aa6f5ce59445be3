import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { PROBLEM_CODES } from '@machineadm/document/diagnostics/index.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import { jsonSchema } from '@machineadm/document/versions/json-schema.ts';
import { parse } from 'yaml';
import type { Vector } from '../../../scripts/generate/vectors.ts';
import { needs } from '../../support/needs.ts';
import { publishedSchema } from '../../support/published-schema.ts';

const root = resolve(import.meta.dirname, '../../..');
const folder = join(root, 'contract/vectors');
const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
const read = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as readonly Vector[];
const all = files.flatMap(read);
const judged = all.filter(({ schema }) => schema !== 'cannot judge');

/** What a schema gets to see: undefined of a text that only a parser can refuse. */
function parsed(document: string): unknown {
  try {
    return parse(document) as unknown;
  } catch {
    return undefined;
  }
}

describe('the published vectors', () => {
  test('are at least 300, each with a name of its own in its file', () => {
    assert.ok(all.length >= 300, `${all.length} vectors`);
    for (const file of files) {
      const names = read(file).map(({ name }) => name);
      assert.deepEqual(names, [...new Set(names)], file);
    }
    // Each disagreement is one on purpose.
    assert.ok(all.length - judged.length < 60, `${all.length - judged.length} that a schema cannot judge`);
  });

  for (const file of files) {
    test(`${file}: validate gives each verdict, with the code at the position`, async () => {
      for (const { name, document, verdict, problem } of read(file)) {
        const bytes = new TextEncoder().encode(document);
        const result = await loadDocument([{ name, bytes }], { agentVersion: '0.1.0' });
        const problems = result.ok ? [] : result.problems;
        const found = problems.map(({ code, place: { line, column }, path, message }) => ({
          code,
          line,
          column,
          path,
          message,
        }));
        assert.equal(result.ok ? 'valid' : 'invalid', verdict, `${name}: ${JSON.stringify(found)}`);
        if (problem === undefined) continue;
        assert.ok(
          found.some(
            ({ code, line, column }) => code === problem.code && line === problem.line && column === problem.column,
          ),
          `${name}: ${JSON.stringify(problem)} is not among ${JSON.stringify(found)}\n${document}`,
        );
      }
    });
  }

  test('have every code of a refusal', () => {
    const elsewhere = ['Collision', 'Risk', 'DocumentNotTrusted', 'SecretReadableByAll'];
    const codes = new Set(all.map(({ problem }) => problem?.code));
    assert.deepEqual(
      PROBLEM_CODES.filter((code) => !codes.has(code)),
      elsewhere,
    );
  });

  test('are checked alike by ajv in its strict mode', () => {
    const judge = publishedSchema();
    for (const { name, document, schema } of judged) {
      const verdict = judge(parsed(document)) ? 'valid' : 'invalid';
      assert.equal(verdict, schema, `${name}: ${JSON.stringify(judge.errors?.slice(0, 2))}\n${document}`);
    }
    for (const { name, document, schema } of all) {
      const value = parsed(document);
      if (schema === 'cannot judge' && value !== undefined && typeof value === 'object' && !Array.isArray(value)) {
        assert.ok(judge(value), `${name}: a schema judges it after all`);
      }
    }
  });

  test('are checked alike by jsonschema of Python', {
    skip: needs('jsonschema for Python'),
  }, () => {
    const script = `
import json, sys
from jsonschema import Draft202012Validator
given = json.load(sys.stdin)
Draft202012Validator.check_schema(given["schema"])
judge = Draft202012Validator(given["schema"])
print(json.dumps(["valid" if judge.is_valid(value) else "invalid" for value in given["values"]]))
`;
    const input = JSON.stringify({ schema: jsonSchema(), values: judged.map(({ document }) => parsed(document)) });
    const run = spawnSync('python3', ['-c', script], { input, encoding: 'utf8', maxBuffer: 2 ** 26 });
    assert.equal(run.status, 0, run.stderr);
    const verdicts = JSON.parse(run.stdout) as readonly string[];
    assert.deepEqual(
      judged.flatMap(({ name, schema }, index) => (verdicts[index] === schema ? [] : [name])),
      [],
    );
  });
});
