import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseJsonTree } from '@machineadm/document/trees/json-tree.ts';
import { leaves, toPlain } from '@machineadm/document/trees/tree.ts';
import { parseYaml } from '@machineadm/document/yaml/parse.ts';
import fc from 'fast-check';

/** The same text behind an empty YAML comment: it is no JSON any more, so that the YAML parser reads it. */
function asYaml(text: string) {
  return parseYaml('d', `#\n${text}`, []);
}

describe('a document in JSON', () => {
  test('means what the YAML parser says it means, with every part in the same place', () => {
    const values = fc.jsonValue({ maxDepth: 5 }).filter((value) => !JSON.stringify(value).includes('__proto__'));
    fc.assert(
      fc.property(fc.record({ a: values, 'b c': fc.array(values) }), fc.constantFrom(0, 2), (value, indent) => {
        const text = JSON.stringify(value, undefined, indent);
        const tree = parseJsonTree('d', text);
        const yaml = asYaml(text);
        assert.ok(tree !== undefined && yaml !== undefined);
        assert.deepEqual(toPlain(tree), toPlain(yaml));
        assert.deepEqual(JSON.parse(JSON.stringify(toPlain(tree))), JSON.parse(text));
        const places = leaves(yaml).map((leaf) => ({ ...leaf, at: { ...leaf.at, line: leaf.at.line - 1 } }));
        assert.deepEqual(leaves(tree), places);
      }),
      { numRuns: 200 },
    );
  });

  for (const text of [
    '{"a":1,"a":2}',
    '{"a":1,}',
    '{a: 1}',
    '{"a":01}',
    '{"a":1} x',
    '{"a":"\n"}',
    '{"a":"',
    '{"a":[1 2]}',
    '{"a":.5}',
    '{',
  ]) {
    test(`${JSON.stringify(text)} is parsed by the YAML parser`, () => {
      assert.equal(parseJsonTree('d', text), undefined);
    });
  }

  test('with unlimited nesting is not parsed', () => {
    assert.equal(parseJsonTree('d', `{"a":${'['.repeat(100_000)}`), undefined);
  });
});
