import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { blockIn, withBlock, withoutBlock } from '../../../src/owned-files/marked-block.ts';

const BLOCK = '# BEGIN machineadm: proxy\nA=1\n# END machineadm: proxy\n';

describe('a block of ours in a file of others', () => {
  test('is appended, and removed without a trace', () => {
    for (const text of ['', 'PATH=/bin\n', 'PATH=/bin\n\n# a comment\n']) {
      const changed = withBlock(text, 'proxy', 'A=1\n');
      assert.equal(changed, text + BLOCK);
      assert.equal(blockIn(changed, 'proxy'), 'A=1\n');
      assert.equal(withoutBlock(changed, 'proxy'), text);
    }
  });

  test('gives a last line its newline first', () => {
    assert.equal(withBlock('PATH=/bin', 'proxy', 'A=1\n'), `PATH=/bin\n${BLOCK}`);
  });

  test('is changed in its place', () => {
    const text = `first\n${BLOCK}last\n`;
    assert.equal(withBlock(text, 'proxy', 'B=2\n'), `first\n${BLOCK.replace('A=1', 'B=2')}last\n`);
    assert.equal(withBlock(text, 'proxy', 'A=1\n'), text);
    assert.equal(blockIn(withBlock(text, 'proxy', ''), 'proxy'), '');
  });

  test('of another name is left alone', () => {
    assert.equal(blockIn(BLOCK, 'other'), undefined);
    assert.equal(withoutBlock(BLOCK, 'other'), BLOCK);
  });

  test('that has lost its end is not cut: its end is unknown', () => {
    const torn = '# BEGIN machineadm: proxy\nA=1\nPATH=/bin\n';
    assert.equal(withoutBlock(torn, 'proxy'), torn);
    assert.equal(withBlock(torn, 'proxy', 'A=1\n'), torn + BLOCK);
  });

  test('begins on a line of its own only', () => {
    const text = `x ${BLOCK}`;
    assert.equal(blockIn(text, 'proxy'), undefined);
  });
});
