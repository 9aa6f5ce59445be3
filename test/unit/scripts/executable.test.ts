import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { stripElf, unsignPe } from '../../../scripts/build/executable.ts';

describe('stripElf', () => {
  test('removes what the kernel does not map, and the program still runs', (context) => {
    if (process.platform !== 'linux') return context.skip('needs an ELF program that runs here');
    const directory = mkdtempSync(join(tmpdir(), 'machineadm-strip-'));
    try {
      const original = readFileSync(process.execPath);
      const stripped = stripElf(original);
      assert.ok(stripped.length < original.length, 'nothing was removed');
      assert.equal(stripped.readBigUInt64LE(0x28), 0n, 'a section table is still announced');
      const program = join(directory, 'node');
      writeFileSync(program, stripped);
      chmodSync(program, 0o755);
      assert.equal(execFileSync(program, ['-p', '6 * 7'], { encoding: 'utf8' }), '42\n');
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test('refuses a file that is no 64-bit ELF', () => {
    assert.throws(() => stripElf(Buffer.from('MZ this is something else altogether')), /not a 64-bit/);
  });
});

describe('unsignPe', () => {
  const END = 0x200;

  /** The least PE32+ file that has a certificate table at its end. */
  function signedPe(): Buffer {
    const file = Buffer.alloc(END + 16, 0x11);
    file.writeUInt32LE(0x80, 0x3c);
    file.write('PE\0\0', 0x80, 'latin1');
    file.writeUInt16LE(0x20b, 0x80 + 24);
    file.writeUInt32LE(END, 0x80 + 24 + 112 + 32);
    file.writeUInt32LE(16, 0x80 + 24 + 112 + 36);
    return file;
  }

  test('cuts the certificate table off and forgets its address', () => {
    const unsigned = unsignPe(signedPe());
    assert.equal(unsigned.length, END);
    assert.equal(unsigned.readBigUInt64LE(0x80 + 24 + 112 + 32), 0n);
  });

  test('leaves an unsigned file as it is', () => {
    const once = unsignPe(signedPe());
    assert.deepEqual(unsignPe(once), once);
  });

  test('refuses a table that lies outside the file', () => {
    const file = signedPe();
    file.writeUInt32LE(17, 0x80 + 24 + 112 + 36);
    assert.throws(() => unsignPe(file), /outside the PE file/);
  });
});
