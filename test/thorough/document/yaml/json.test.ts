import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { leaves, toPlain } from '@machineadm/document/trees/tree.ts';
import { parseYaml } from '@machineadm/document/yaml/parse.ts';
import fc from '../../../support/property.ts';

/** Escapes everything that is not ASCII, as many programs do; emoji become pairs of surrogates. */
function inAscii(json: string): string {
  return json.replace(/[^\x20-\x7e\s]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

describe('a document in JSON', () => {
  test('means to the YAML parser what it means in JSON', () => {
    const values = fc.jsonValue({ maxDepth: 5 }).filter((value) => !JSON.stringify(value).includes('__proto__'));
    fc.assert(
      fc.property(
        fc.record({ a: values, 'b c': fc.array(values), text: fc.string({ unit: 'grapheme' }) }),
        fc.constantFrom(0, 2, '\t'),
        fc.boolean(),
        (value, indent, isAscii) => {
          const written = JSON.stringify(value, undefined, indent);
          const text = isAscii ? inAscii(written) : written;
          const tree = parseYaml('d', text, []);
          assert.ok(tree !== undefined);
          assert.deepEqual(JSON.parse(JSON.stringify(toPlain(tree))), JSON.parse(text));
        },
      ),
      { numRuns: 500 },
    );
  });

  test('has the place of every part, also where tabs indent it', () => {
    const tree = parseYaml('d', '{\n\t"a": [\n\t\t1,\n\t\t"\\u00e9\\/"\n\t]\n}', []);
    assert.ok(tree !== undefined);
    assert.deepEqual(
      leaves(tree).map(({ path, at }) => [path, at.line, at.column]),
      [
        ['a[0]', 3, 3],
        ['a[1]', 4, 3],
      ],
    );
  });
});
