import assert from 'node:assert/strict';
import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { OwnChild } from '../../../../src/host/processes/own-child.ts';

describe('this program in a process of its own', () => {
  const [, script = ''] = process.argv;
  const directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-own-child-'));
  const answers = `require('node:readline').createInterface({ input: process.stdin })`;
  const signal = new AbortController().signal;

  /** What is started in the place of this program. */
  function becomes(source: string): void {
    const file = join(directory.path, 'child.cjs');
    writeFileSync(file, source);
    process.argv[1] = file;
  }

  after(() => {
    process.argv[1] = script;
    directory.remove();
  });

  test('answers each line with a line', async () => {
    becomes(`console.log('ready'); ${answers}.on('line', (line) => console.log('answer to ' + line));`);
    const child = await OwnChild.start([], signal);
    assert.equal(await child.ask('one', signal), 'answer to one');
    assert.equal(await child.ask('two', signal), 'answer to two');
    child.close();
    await assert.rejects(child.ask('three', signal), /it was ended/);
  });

  test('that ends is an error with its last words', async () => {
    becomes(`console.error('no luck'); process.exit(3);`);
    await assert.rejects(OwnChild.start([], signal), /it ended with status 3: no luck/);
  });

  test('that answers without end is ended', async () => {
    becomes(
      `console.log('ready'); ${answers}.on('line', () => { for (let i = 0; i < 99; i++) process.stdout.write('x'.repeat(9999)); });`,
    );
    const child = await OwnChild.start([], signal);
    await assert.rejects(child.ask('one', signal), /it answered too much/);
  });

  test('that does not answer is ended with the signal', async () => {
    becomes(`console.log('ready'); ${answers};`);
    const child = await OwnChild.start([], signal);
    await assert.rejects(child.ask('one', AbortSignal.timeout(50)), /it was ended before it answered/);
  });
});
