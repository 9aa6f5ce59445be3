import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { writeOutputFiles } from '../../../src/host/local-files/output-file.ts';

describe('several output files of a command', () => {
  let top = '';
  let out = '';
  beforeEach(() => {
    top = mkdtempSync(join(tmpdir(), 'machineadm-output-'));
    out = join(top, 'out');
  });
  afterEach(() => rmSync(top, { recursive: true }));

  const write = (names: readonly (readonly string[])[], replace = false) =>
    writeOutputFiles(
      out,
      names.map((one, index) => ({ names: one, content: `${index}` })),
      { replace, option: '--output-dir' },
    );
  const refused = (reason: string, summary: RegExp) => (error: unknown) => {
    assert.ok(error instanceof Error && 'reason' in error && 'exit' in error);
    assert.deepEqual([error.reason, error.exit], [reason, 'Refused']);
    assert.match(error.message, summary);
    return true;
  };

  test('are written for the caller alone', () => {
    assert.deepEqual(write([['a', 'x.yaml'], ['b', 'x.yaml'], ['x.yaml']]), [
      join(out, 'a/x.yaml'),
      join(out, 'b/x.yaml'),
      join(out, 'x.yaml'),
    ]);
    assert.equal(readFileSync(join(out, 'b/x.yaml'), 'utf8'), '1');
    assert.deepEqual(
      [out, join(out, 'a'), join(out, 'a/x.yaml')].map((path) => statSync(path).mode & 0o777),
      [0o700, 0o700, 0o600],
    );
    assert.deepEqual(readdirSync(join(out, 'a')), ['x.yaml']);
  });

  test('of one name are refused before the first is written', () => {
    assert.throws(
      () => write([['x.yaml'], ['a', 'y.yaml'], ['a', 'Y.yaml']]),
      refused('FileNotWritten', /two results have the name/),
    );
    assert.throws(() => readdirSync(out), { code: 'ENOENT' });
  });

  for (const name of ['..', '.', '', 'a/b', '../x', 'a\\b', 'a\nb', 'C:x']) {
    test(`with the name ${JSON.stringify(name)} are refused`, () => {
      assert.throws(() => write([['ok.yaml'], [name, 'x.yaml']]), refused('UnsafePath', /unsafe name/));
      assert.throws(() => write([['ok.yaml'], [name]]), refused('UnsafePath', /unsafe name/));
      assert.deepEqual(readdirSync(top), []);
    });
  }

  test('that exist are overwritten only where that is asked for, and none of the others is written', () => {
    mkdirSync(out);
    writeFileSync(join(out, 'b.yaml'), 'mine');
    assert.throws(() => write([['a.yaml'], ['b.yaml']]), refused('FileNotWritten', /b\.yaml exists already/));
    assert.deepEqual(readdirSync(out), ['b.yaml']);
    write([['a.yaml'], ['b.yaml']], true);
    assert.equal(readFileSync(join(out, 'b.yaml'), 'utf8'), '1');
  });

  test('are never written through a link, of a directory or of a file', () => {
    const outside = join(top, 'outside');
    mkdirSync(outside);
    mkdirSync(out);
    symlinkSync(outside, join(out, 'a'));
    symlinkSync(join(outside, 'target'), join(out, 'b.yaml'));
    for (const replace of [false, true]) {
      assert.throws(() => write([['a', 'x.yaml']], replace), refused('UnsafePath', /symbolic link/));
      assert.throws(() => write([['b.yaml']], replace), refused('UnsafePath', /symbolic link/));
    }
    assert.deepEqual(readdirSync(outside), []);
  });
});
