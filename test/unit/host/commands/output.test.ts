import assert from 'node:assert/strict';
import { describe, mock, test } from 'node:test';
import { keyBlockHider, LineSplitter, Tail } from '../../../../src/host/commands/output.ts';

function linesOf(...chunks: readonly (string | Uint8Array)[]): string[] {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  for (const chunk of chunks) splitter.write(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  splitter.end();
  return lines;
}

describe('cutting output into lines', () => {
  test('lines may be cut anywhere, and the last one may lack its end', () => {
    assert.deepEqual(linesOf('on', 'e\ntw', 'o\n', '\nfour'), ['one', 'two', '', 'four']);
  });

  test('a line end of another system is taken off', () => {
    assert.deepEqual(linesOf('a\r\nb\r\n'), ['a', 'b']);
  });

  test('a character that is cut in two is put together', () => {
    const bytes = Buffer.from('ü€😀\n');
    assert.deepEqual(linesOf(...Array.from(bytes, (_, index) => bytes.subarray(index, index + 1))), ['ü€😀']);
  });

  test('a line of eight megabytes in small pieces comes whole, in time that grows with its length only', () => {
    const length = 2048 * 4096;
    const pieces = Array.from({ length: 2048 }, () => 'x'.repeat(4096));
    let searched = 0;
    const indexOf = String.prototype.indexOf;
    mock.method(String.prototype, 'indexOf', function (this: string, text: string, from = 0): number {
      searched += this.length - from;
      return indexOf.call(this, text, from);
    });
    const lines = linesOf(...pieces, '\n');
    mock.restoreAll();
    assert.deepEqual(
      lines.map((line) => line.length),
      [length],
    );
    assert.ok(searched >= length && searched < 2 * length, `${searched} characters of ${length} were searched`);
  });
});

describe('the tail of a stream', () => {
  test('keeps all of what fits', () => {
    const tail = new Tail(5);
    tail.write(Buffer.from('ab'));
    tail.write(Buffer.from('cde'));
    assert.equal(tail.text(), 'abcde');
  });

  test('keeps exactly the last bytes of what does not', () => {
    const tail = new Tail(5);
    for (const piece of ['abc', 'def', 'g', 'hijklmnop'.repeat(100), 'xy']) tail.write(Buffer.from(piece));
    assert.equal(tail.text(), 'nopxy');
  });

  test('does not begin with half a character', () => {
    const tail = new Tail(4);
    tail.write(Buffer.from('€€'));
    assert.equal(tail.text(), '€');
  });
});

describe('a private key that goes by line by line', () => {
  test('is hidden from its first line to its last, and nothing else is', () => {
    const hide = keyBlockHider();
    const lines = ['a', '-----BEGIN RSA PRIVATE KEY-----', 'MIIEow', 'IBAAKC', '-----END RSA PRIVATE KEY-----', 'b'];
    const hidden = '[redacted]';
    assert.deepEqual(lines.map(hide), ['a', hidden, hidden, hidden, hidden, 'b']);
  });
});
