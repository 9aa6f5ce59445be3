import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { foreignYaml, foreignYamlDocuments } from '@machineadm/document/yaml/foreign-yaml.ts';
import { StepCounter } from '../../../support/steps.ts';

test('the steps of reading grow as the text does', async () => {
  await using counter = await StepCounter.start();
  const families: Readonly<Record<string, (size: number) => string>> = {
    'many keys': (size) => Array.from({ length: size }, (_, index) => `k${index}: v\n`).join(''),
    'many keys in braces': (size) => `{${Array.from({ length: size }, (_, index) => `k${index}: v`).join(',')}}`,
    'many anchors': (size) => Array.from({ length: size }, (_, index) => `- &k${index} v\n`).join(''),
    'many aliases': (size) => Array.from({ length: size }, (_, index) => `- &k${index} v\n- *k${index}\n`).join(''),
    'unknown aliases': (size) => '*a\n'.repeat(size),
    'many errors in a line': (size) => '- ]'.repeat(size),
    'many documents': (size) => 'a: 1\n---\n'.repeat(size),
    'many empty keys': (size) => ': }'.repeat(size),
  };
  for (const read of [foreignYaml, foreignYamlDocuments]) {
    for (const [name, text] of Object.entries(families)) {
      const steps = async (size: number): Promise<number> => await counter.count(async () => await read(text(size)));
      await steps(10);
      const [once, twice, fourTimes] = [await steps(100), await steps(200), await steps(400)] as const;
      // Twice the growth is linear, four times is quadratic, which is tens of thousands of steps here. The engine itself adds
      // some, now and then, also where nothing grows.
      assert.ok(fourTimes - twice < 3 * (twice - once) + 1000, `${name}: ${once}, ${twice}, ${fourTimes} steps`);
    }
  }
});

describe("another program's YAML", () => {
  test('has its value, with aliases', async () => {
    assert.deepEqual(await foreignYaml('a: &x [1, two]\nb: *x\n? c\n: d\n'), { a: [1, 'two'], b: [1, 'two'], c: 'd' });
    assert.deepEqual(await foreignYamlDocuments('a: 1\n---\nb: 2\n'), [{ a: 1 }, { b: 2 }]);
    assert.equal(await foreignYaml(''), null);
  });

  for (const [what, text] of Object.entries({
    'a key twice': 'a: 1\nb: 2\na: 3\n',
    'a key twice further down': 'a: [{b: 1, b: 2}]\n',
    'a key that is a map': '? {a: 1}\n: 2\n',
    'a key of many levels, which the library prints for each level': `${'? '.repeat(400)}x\n`,
    'an alias as a key': '- &a {b: 1}\n- *a : 2\n',
    'an alias without its anchor': 'a: *b\n',
    'more aliases than the library can resolve in linear time': `- &a x\n${'- *a\n'.repeat(201)}`,
    'an anchor that multiplies': `- &a [${'x,'.repeat(99)}]\n- &b [${'*a,'.repeat(20)}]\n- &c [${'*b,'.repeat(20)}]\n- [${'*c,'.repeat(20)}]\n`,
    'more levels than the stack': '['.repeat(5000),
    'more levels than the stack, closed': `${'['.repeat(5000)}${']'.repeat(5000)}`,
    'a bracket too much': 'a: ]\n',
  })) {
    test(`has no value with ${what}`, async () => {
      assert.equal(await foreignYaml(text), undefined);
      assert.deepEqual(await foreignYamlDocuments(text), []);
    });
  }

  test('leaves out only the documents without a value', async () => {
    assert.deepEqual(await foreignYamlDocuments('a: 1\n---\na: *b\n---\nc: 1\nc: 2\n---\nd: 3\n'), [
      { a: 1 },
      { d: 3 },
    ]);
  });
});
