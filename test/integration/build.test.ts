import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { V8_FLAGS } from '../../scripts/build/bundle.ts';
import { fileDigest } from '../../scripts/build/inputs.ts';
import { nativeTarget } from '../../scripts/build/runtime.ts';
import { buildInto } from '../../scripts/build.ts';

const root = resolve(import.meta.dirname, '../..');

describe('the build', () => {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-build-'));
  const first = join(directory, 'first');
  const second = join(directory, 'second');
  const binary = join(first, 'machineadm');
  const options = { root, entry: 'test/fixtures/build/main.ts', targets: [nativeTarget()], commit: 'c0ffee' };

  before(async () => {
    await buildInto(first, options);
    await buildInto(second, options);
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  function run(args: readonly string[], environment: Readonly<Record<string, string>> = {}): unknown {
    return JSON.parse(execFileSync(binary, args, { encoding: 'utf8', env: environment, cwd: '/' }));
  }

  test('makes one executable that knows its commit', () => {
    assert.deepEqual(run([]), {
      commit: 'c0ffee',
      order: ['order'],
      execArgv: ['--no-warnings', ...V8_FLAGS],
    });
    assert.equal(statSync(binary).mode & 0o777, 0o755);
  });

  test('runs a module behind a dynamic import only when it is asked for', () => {
    assert.deepEqual(run(['lazy']), {
      commit: 'c0ffee',
      order: ['order', 'lazy'],
      execArgv: ['--no-warnings', ...V8_FLAGS],
    });
  });

  test('lists what is inside, by name, version, licence and digest', async () => {
    const bom = JSON.parse(readFileSync(join(first, 'machineadm.cdx.json'), 'utf8'));
    assert.deepEqual([bom.bomFormat, bom.specVersion], ['CycloneDX', '1.5']);
    // https://cyclonedx.org/docs/1.5/json/: this pattern, and references that are unique and all there
    assert.match(bom.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const refs: readonly string[] = [bom.metadata.component, ...bom.components].map((one) => one['bom-ref']);
    assert.equal(new Set(refs).size, refs.length);
    for (const { ref, dependsOn } of bom.dependencies) {
      for (const named of [ref, ...dependsOn]) assert.ok(refs.includes(named), named);
    }
    const node = bom.components.find((one: { name: string }) => one.name === nativeTarget().package);
    assert.deepEqual([node.type, node.version, node.hashes[0].alg], ['platform', process.versions.node, 'SHA-512']);
    assert.match(node.hashes[0].content, /^[0-9a-f]{128}$/);
    const openssl = bom.components.find((one: { name: string }) => one.name === 'openssl');
    assert.equal(openssl.version, process.versions.openssl);
    assert.equal(
      await fileDigest(join(second, 'machineadm.cdx.json')),
      await fileDigest(join(first, 'machineadm.cdx.json')),
    );
  });

  test('makes the same bytes from the same inputs', async () => {
    assert.equal(await fileDigest(join(second, 'machineadm')), await fileDigest(binary));
  });

  test('records digests that sha256sum accepts, and the licences', () => {
    execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: first, stdio: 'pipe' });
    assert.match(readFileSync(join(first, 'LICENSES.txt'), 'utf8'), /Node\.js is licensed for use as follows/);
  });

  test('leaves nothing else in its output directory', () => {
    assert.deepEqual(readdirSync(first).sort(), [
      'LICENSES.txt',
      'SHA256SUMS',
      'machineadm',
      nativeTarget().file,
      'machineadm.cdx.json',
    ]);
  });

  test('runs no foreign code that NODE_OPTIONS names', () => {
    const trace = join(directory, 'trace');
    const intruder = join(directory, 'intruder.cjs');
    writeFileSync(intruder, `require('node:fs').writeFileSync(${JSON.stringify(trace)}, 'here');`);
    const environment = { NODE_OPTIONS: `--require ${intruder}` };
    // The trap itself works: plain Node falls into it.
    execFileSync(process.execPath, ['-e', ''], { env: environment });
    assert.ok(existsSync(trace), 'the trap does not work');
    rmSync(trace);
    run([], environment);
    assert.ok(!existsSync(trace), 'NODE_OPTIONS ran code inside the binary');
  });
});
