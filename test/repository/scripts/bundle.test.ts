import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempDisposableSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { bundle, compileParts, partsOf, V8_FLAGS } from '../../../scripts/build/bundle.ts';

const root = resolve(import.meta.dirname, '../../..');

/** Bundles some modules, by name; `entry.ts` is the program. */
async function bundled(directory: string, modules: Readonly<Record<string, string>>): Promise<string> {
  for (const [name, text] of Object.entries(modules)) writeFileSync(join(directory, name), text);
  const output = join(directory, 'program.cjs');
  await bundle(join(directory, 'entry.ts'), output, { commit: 'test' });
  return output;
}

function print(program: string, ...args: readonly string[]): unknown {
  return JSON.parse(execFileSync(process.execPath, [program, ...args], { encoding: 'utf8', env: {} }));
}

test('a bundle holds the published schema deflated, and gives it as it is published', async () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-bundle-'));
  const published = join(root, 'contract/schema/v1alpha1.json');
  const program = await bundled(directory.path, {
    'entry.ts': `import schema from ${JSON.stringify(published)} with { type: 'json' };\nconsole.log(JSON.stringify(schema));\n`,
  });
  assert.deepEqual(print(program), JSON.parse(readFileSync(published, 'utf8')));
  const parts = readdirSync(partsOf(program)).map((name) => statSync(join(partsOf(program), name)).size);
  const size = parts.reduce((sum, one) => sum + one, statSync(program).size);
  assert.ok(size < statSync(published).size / 4, 'the schema is in it as text');
});

/** Prints what it matched, which of two modules of Node were loaded, and whether a stack trace names functions. */
const PROGRAM = {
  'entry.ts': `import * as dns from 'node:dns';
import http, { createServer } from 'node:http';
import { EventEmitter } from 'node:events';
import { matched } from './early.ts';
class Late extends EventEmitter {}
async function main(): Promise<void> {
  const used = process.argv[2];
  if (used === 'dns') dns.getServers();
  if (used === 'http') new http.Agent({}).destroy();
  if (used === 'late') (await import('./late.ts')).late();
  const loaded = Reflect.get(process, 'moduleLoadList').filter((name: string) => /^NativeModule (dns|http)$/.test(name));
  const isNamed = / main /.test(new Error().stack ?? '');
  console.log(JSON.stringify([matched, loaded, typeof createServer, new Late() instanceof EventEmitter, isNamed]));
}
void main();
`,
  'early.ts': `export let matched = /^[0-9]+µs$/.test('7µs') && '├' !== '|';\nexport function unset(): void { matched = false; }\n`,
  'late.ts': `import { unset } from './early.ts';\nexport const late = unset;\n`,
};

test('a bundle loads the modules of Node when they are used, and its own parts when they are imported', async () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-bundle-'));
  const program = await bundled(directory.path, PROGRAM);
  assert.deepEqual(print(program), [true, [], 'function', true, true]);
  assert.deepEqual(print(program, 'dns'), [true, ['NativeModule dns'], 'function', true, true]);
  assert.deepEqual(print(program, 'http'), [true, ['NativeModule http'], 'function', true, true]);
  assert.deepEqual(print(program, 'late'), [false, [], 'function', true, true]);
  for (const name of readdirSync(partsOf(program)))
    assert.doesNotMatch(readFileSync(join(partsOf(program), name), 'utf8'), /[^\0-\x7f]/, name);
});

test('a bundle gives a CommonJS package that is imported late by its names, and as a default', async () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-bundle-'));
  const program = await bundled(directory.path, {
    'entry.ts': `async function main(): Promise<void> {
  const { one, default: all } = await import('./package.cjs');
  console.log(JSON.stringify([one, Object.keys(all)]));
}
void main();
`,
    'package.cjs': 'exports.one = 1;\nexports.two = 2;\n',
  });
  assert.deepEqual(print(program), [1, ['one', 'two']]);
});

test('what was compiled of a bundle is taken by the Node that it was compiled for, and changes nothing', async () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-bundle-'));
  const program = await bundled(directory.path, PROGRAM);
  await compileParts(process.execPath, program, []);
  const parts = readdirSync(partsOf(program));
  assert.deepEqual(
    parts.filter((name) => name.endsWith('.cache')),
    parts.filter((name) => name.endsWith('.js')).map((name) => `${name}.cache`),
  );
  // The flags that it runs under do not change what is taken: Node's own modules would be compiled anew, too.
  const ask = `const { compiled } = require(${JSON.stringify(program)});
    console.log(JSON.stringify(${JSON.stringify(parts)}.filter((name) => name.endsWith('.js')).map((name) => compiled(name).cachedDataRejected)));`;
  const rejected: unknown = JSON.parse(
    execFileSync(process.execPath, [...V8_FLAGS, '-e', ask], { encoding: 'utf8', env: {} }),
  );
  assert.ok(Array.isArray(rejected) && rejected.length > 1 && rejected.every((one) => one === false), String(rejected));
  assert.deepEqual(print(program, 'late'), [false, [], 'function', true, true]);
});

test('a bundle asks for a module of Node once, however often something in it is used', async () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-bundle-'));
  const program = await bundled(directory.path, {
    'entry.ts': `import { getServers, setServers } from 'node:dns';\nfor (let i = 0; i < 5; i += 1) setServers(getServers());\n`,
  });
  const counter = join(directory.path, 'counter.cjs');
  const counting = [
    "const Module = require('node:module');",
    'const load = Module._load;',
    'let loads = 0;',
    'Module._load = function (id, ...rest) {',
    "  if (id === 'node:dns') loads += 1;",
    '  return load.call(this, id, ...rest);',
    '};',
    "process.on('exit', () => console.log(loads));",
  ];
  writeFileSync(counter, counting.join('\n'));
  assert.equal(print('--require', counter, program), 1);
});
