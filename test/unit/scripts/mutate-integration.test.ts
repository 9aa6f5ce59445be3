import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempDisposableSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { blockAt, blocksOf, withoutTypes, withProbes } from '../../../scripts/mutate/blocks.ts';
import { isRecordValid, type TestRecord, testsOfBlock } from '../../../scripts/mutate/integration.ts';
import { byUnitTests, type Outcome } from '../../../scripts/mutate/report.ts';

/** A place in a text, by a word that stands there once. */
function placeOf(text: string, word: string): number {
  assert.equal(text.split(word).length, 2, word);
  return text.indexOf(word);
}

function recordOf(changes: Partial<TestRecord>): TestRecord {
  return { digest: 'test', passes: true, ms: 1_000, sources: {}, ...changes };
}

describe('the blocks of a source', () => {
  const text =
    'const a = [1].map((one) => [two].map((it) => three));\nif (a) { four(); } else { try { five(); } catch { six(); } }';

  test('are its functions and branches; the smallest around a place counts', () => {
    const at = (word: string) => blockAt(blocksOf(text), placeOf(text, word));
    assert.equal(at('const'), 0);
    assert.equal(at('two'), placeOf(text, '[two]'));
    assert.equal(at('three'), placeOf(text, 'three'));
    assert.equal(at('four'), placeOf(text, '{ four'));
    assert.equal(at('else'), 0);
    assert.equal(at('five'), placeOf(text, '{ five'));
    assert.equal(at('six'), placeOf(text, '{ six'));
  });

  test('are written down once each when they run, in a program that does what it did', () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-ran-test-'));
    const source = [
      'class Base { name: string; constructor(name: string) { this.name = name; } }',
      'class Named extends Base { constructor() { super("named"); this.#calls = 0; } #calls: number; get calls() { return this.#calls++; } }',
      'const object = (key: string) => ({ [key]: (() => (1, 2))() });',
      'const later = async (wish: Promise<number>) => await wish;',
      'function never(): void { throw new Error(); }',
      'const named = new Named();',
      'for (const _ of [1, 2, 3]) { void named.calls; }',
      'if (named.calls === 0) { never(); }',
      'console.log(JSON.stringify([named.name, named.calls, object("k"), await later(Promise.resolve(7))]));',
    ].join('\n');
    const run = (name: string, code: string) => {
      writeFileSync(join(directory.path, name), code);
      const args = ['--disable-warning=ExperimentalWarning', join(directory.path, name)];
      const env = { ...process.env, NODE_OPTIONS: '', MACHINEADM_RAN: join(directory.path) };
      return spawnSync(process.execPath, args, { encoding: 'utf8', env }).stdout;
    };
    const plain = run('plain.mts', source);
    assert.equal(plain, '["named",4,{"k":2},7]\n');
    assert.equal(run('probed.mjs', withProbes('src/a.ts', source)), plain);
    const [report = ''] = readdirSync(directory.path).filter((name) => /^\d+-\d+$/.test(name));
    const ran = readFileSync(join(directory.path, report), 'utf8').trimEnd().split('\n');
    const all = blocksOf(withoutTypes(source));
    const isOfNever = (start: number) => start === placeOf(source, '{ throw') || start === placeOf(source, '{ never');
    const expected = all.map(({ start }) => start).filter((start) => !isOfNever(start));
    assert.deepEqual(ran.sort(), expected.map((start) => `src/a.ts ${start}`).sort());
  });
});

describe('the integration tests of a block', () => {
  const block = 40;
  const source = { digest: 'source', blocks: [0, block] };
  const sources = { 'src/host/read.ts': source };

  test('are those that run it and pass, the one of its name first, then those of its room, each sooner where it is quick', () => {
    const records = new Map([
      ['test/integration/quick.test.ts', recordOf({ ms: 900, sources })],
      ['test/integration/slow.test.ts', recordOf({ ms: 4_000, sources })],
      ['test/integration/host/files.test.ts', recordOf({ ms: 2_000, sources })],
      ['test/integration/host/read.test.ts', recordOf({ ms: 5_000, sources })],
      ['test/integration/fails.test.ts', recordOf({ passes: false, sources })],
      ['test/integration/loads.test.ts', recordOf({ sources: { 'src/host/read.ts': { ...source, blocks: [0] } } })],
      ['test/integration/other.test.ts', recordOf({ sources: { 'src/host/write.ts': source } })],
    ]);
    assert.deepEqual(testsOfBlock(records, 'src/host/read.ts', block), [
      ['test/integration/host/read.test.ts', 5_000],
      ['test/integration/host/files.test.ts', 2_000],
      ['test/integration/quick.test.ts', 900],
      ['test/integration/slow.test.ts', 4_000],
    ]);
  });

  test('are recorded again when the test or a source that it ran is another, not where it only loads it', () => {
    const record = recordOf({ sources: { 'src/a.ts': source, 'src/b.ts': { digest: 'source', blocks: [0] } } });
    assert.equal(isRecordValid(record, 'test', 'src/a.ts', 'source'), true);
    assert.equal(isRecordValid(record, 'another', 'src/a.ts', 'source'), false);
    assert.equal(isRecordValid(record, 'test', 'src/a.ts', 'another'), false);
    assert.equal(isRecordValid(record, 'test', 'src/b.ts', 'another'), true);
    assert.equal(isRecordValid(record, 'test', 'src/c.ts', 'another'), true);
  });
});

test('what integration tests killed has survived the unit tests', () => {
  const mutant = { file: 'src/a.ts', start: 0, end: 1, line: 1, replacement: '', mutator: 'StringLiteral' };
  const outcomes: readonly Outcome[] = [
    { mutant, status: 'Killed', by: 'test/unit/a.test.ts: reads' },
    { mutant, status: 'Timeout', by: '' },
    { mutant, status: 'Killed', by: 'test/integration/a.test.ts' },
    { mutant, status: 'Timeout', by: 'test/attacks/a.test.ts' },
    { mutant, status: 'NoCoverage', by: '' },
  ];
  assert.deepEqual(
    byUnitTests(outcomes).map(({ status }) => status),
    ['Killed', 'Timeout', 'Survived', 'Survived', 'NoCoverage'],
  );
});
