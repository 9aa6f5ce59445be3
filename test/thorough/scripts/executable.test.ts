import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { stripElf, unsignPe } from '../../../scripts/build/executable.ts';
import { withoutOtherLocales } from '../../../scripts/build/icu-data.ts';
import { needs } from '../../support/needs.ts';

describe('stripElf', () => {
  test('removes what the kernel does not map, and the program still runs', { skip: needs('Linux') }, () => {
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

describe('withoutOtherLocales', () => {
  test('leaves English, sorting and Unicode, and ICU does without the rest', { skip: needs('Linux') }, () => {
    const directory = mkdtempSync(join(tmpdir(), 'machineadm-icu-'));
    try {
      const original = readFileSync(process.execPath);
      const smaller = withoutOtherLocales(original);
      assert.equal(smaller.length, original.length);
      const program = join(directory, 'node');
      writeFileSync(program, smaller);
      chmodSync(program, 0o755);
      const script = `console.log(JSON.stringify([
        new Intl.NumberFormat('en').format(1234.5), new Intl.NumberFormat('de').format(1234.5),
        ['nvme10', 'nvme2', 'Ä'].sort((a, b) => a.localeCompare(b, 'en', { numeric: true })),
        new Date(0).toString().replace(/ \\(.*/, ''), Intl.DateTimeFormat().resolvedOptions().timeZone,
        new URL('http://münchen.example/').host, /^\\p{L}$/u.test('é'), 'É'.toLowerCase(), 'ﬁ'.normalize('NFKC'),
      ]))`;
      for (const LANG of ['C.UTF-8', 'de_DE.UTF-8', 'zh_CN.UTF-8']) {
        const printed: unknown = JSON.parse(
          execFileSync(program, ['-e', script], { encoding: 'utf8', env: { LANG, TZ: 'UTC' } }),
        );
        const sorted = ['Ä', 'nvme2', 'nvme10'];
        const [time, zone] = ['Thu Jan 01 1970 00:00:00 GMT+0000', 'UTC'];
        const expected = ['1,234.5', '1,234.5', sorted, time, zone, 'xn--mnchen-3ya.example', true, 'é', 'fi'];
        assert.deepEqual(printed, expected, LANG);
      }
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test('refuses an executable whose data is not where it looks', () => {
    assert.throws(() => withoutOtherLocales(Buffer.from('CmnD is no data of ICU')), /contains no data of ICU/);
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
