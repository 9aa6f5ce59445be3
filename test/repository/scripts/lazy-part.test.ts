import assert from 'node:assert/strict';
import { test } from 'node:test';
import { transform } from 'esbuild';
import { lazyPart } from '../../../scripts/build/lazy-part.ts';

/** Runs a module as a part of a program; `parts` are those that it may import. */
async function run(
  module: string,
  parts: Readonly<Record<string, () => unknown>> = {},
): Promise<{ readonly exports: Readonly<Record<string, unknown>>; readonly loaded: readonly string[] }> {
  const options = {
    format: 'cjs',
    platform: 'node',
    target: 'node24',
    minifyWhitespace: true,
    minifySyntax: true,
  } as const;
  const { code } = await transform(module, { ...options, supported: { 'dynamic-import': false } });
  const loaded: string[] = [];
  const require = (name: string) => {
    loaded.push(name);
    return parts[name]?.();
  };
  const part = { exports: {} };
  new Function('require', 'module', 'exports', lazyPart(code))(require, part, part.exports);
  return { exports: part.exports, loaded };
}

const OTHER = {
  './chunk-AAAAAAAA.js': () => ({
    value: 3,
    double: (n: number) => 2 * n,
    Box: class {
      full = true;
    },
  }),
};

test('a part runs another one when it uses something of it, once', async () => {
  const { exports, loaded } = await run(
    `import { value, double, Box } from './chunk-AAAAAAAA.js';
     export const add = (n) => double(n) + value;
     export const box = () => new Box();
     export const text = () => \`\${value}\`;`,
    OTHER,
  );
  assert.deepEqual(loaded, []);
  assert.equal((exports.add as (n: number) => number)(4), 11);
  assert.deepEqual({ ...(exports.box as () => object)() }, { full: true });
  assert.equal((exports.text as () => string)(), '3');
  assert.deepEqual(loaded, ['./chunk-AAAAAAAA.js']);
});

test('a part runs another one at once where its own first lines need it', async () => {
  const { exports, loaded } = await run(
    `import { Box } from './chunk-AAAAAAAA.js';
     export class Crate extends Box {}`,
    OTHER,
  );
  assert.deepEqual(loaded, ['./chunk-AAAAAAAA.js']);
  assert.ok(new (exports.Crate as new () => { full: boolean })().full);
});

test('a part passes on what another one exports, under any name', async () => {
  const { exports, loaded } = await run(
    `import { value } from './chunk-AAAAAAAA.js';
     export { value, value as default };`,
    OTHER,
  );
  assert.deepEqual(loaded, []);
  assert.deepEqual([Object.keys(exports), exports.value, exports.default], [['default', 'value'], 3, 3]);
});

test('what a part exports follows its variable', async () => {
  const { exports } = await run('export let count = 0; export const next = () => { count += 1; };');
  (exports.next as () => void)();
  assert.equal(exports.count, 1);
});

test('a part that is imported late is a namespace', async () => {
  const { exports } = await run(`export const late = async () => (await import('./late-AAAAAAAA.js')).value;`, {
    './late-AAAAAAAA.js': () => Object.defineProperty({ value: 5 }, '__esModule', { value: true }),
  });
  assert.equal(await (exports.late as () => Promise<number>)(), 5);
});

test('a text that esbuild never wrote before ends the build', () => {
  assert.throws(() => lazyPart('var import_a=require("./a.js");use(import_a)'), /uses import_a in another way/);
  assert.throws(
    () => lazyPart('__export(stdin_exports,{a});module.exports = __toCommonJS(stdin_exports)'),
    /writes exports in another way/,
  );
});
