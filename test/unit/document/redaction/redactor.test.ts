import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { KnownValues } from '@machineadm/document/redaction/known-values.ts';
import { Redactor } from '@machineadm/document/redaction/redactor.ts';
import { attack } from '../../../support/attacks.ts';
import { ENCODINGS } from '../../../support/encodings.ts';
import { learnt, SECRET_VALUES } from '../../../support/secret-values.ts';

describe('a registered value', () => {
  test('is found by the beginning of a long one in UTF-16, which has no zero byte there', () => {
    const known = new KnownValues();
    known.learn(`${'鍵'.repeat(3000)}ab`);
    const cut = Buffer.from('鍵'.repeat(2500), 'utf16le');
    assert.deepEqual(known.find(cut), [{ start: 0, end: cut.length }]);
  });

  for (const [what, value] of Object.entries(SECRET_VALUES)) {
    for (const { name, encode } of ENCODINGS) {
      test(
        `(${what}) is removed as ${name}`,
        attack('Known secrets', 'a known secret in another encoding', () => {
          const text = encode(value);
          const clean = learnt(value).redact(`before: ${text} :after`);
          assert.match(clean, /^before: .*\[redacted\].* :after$/s);
          // What is left of its spelling: quotes, and digits of base64 that belong to neighbours as well.
          const left = clean.slice('before: '.length, -' :after'.length).replaceAll('[redacted]', '');
          assert.ok(left.length <= 12 || text.length - left.length >= value.length * 0.8, left);
          for (const part of value.match(/[\w-]{6,}/g) ?? []) assert.ok(!clean.includes(part), clean);
          return 1;
        }),
      );
    }
  }

  test('is removed where it was truncated, when it is long', () => {
    const value = randomBytes(6000).toString('hex');
    assert.equal(learnt(value).redact(`x ${value.slice(0, 9000)} y`), 'x [redacted] y');
  });

  test('with half a surrogate pair is removed and crashes nothing', () => {
    const value = 'lone\ud800surrogate';
    assert.equal(learnt(value).redact(`x ${value} y`), 'x [redacted] y');
    assert.equal(learnt(value).redact(`x ${JSON.stringify(value)} y`), 'x "[redacted]" y');
  });

  test('is removed next to other letters', () => {
    assert.equal(learnt('tröstlich').redact('ä🔑 tröstlich ö🔑'), 'ä🔑 [redacted] ö🔑');
  });

  test('is removed together with another that overlaps it', () => {
    assert.equal(learnt('abcdefgh', 'efghijkl').redact('-abcdefghijkl-'), '-[redacted]-');
  });

  test('that is shorter than six characters is not searched for', () => {
    assert.equal(learnt('short').redact('a short text'), 'a short text');
  });

  test('does not remove words that only resemble it', () => {
    const text = 'the correct horse, correcthorse and correct_horse';
    assert.equal(learnt('correct-horse').redact(text), text);
  });

  test('is found in nested encodings, between bytes that are not text', () => {
    const inner = Buffer.from('a password: correct-horse-battery').toString('base64');
    const around = (before: number, after: number): string =>
      Buffer.concat([Buffer.alloc(before, 0x01), Buffer.from(inner), Buffer.alloc(after, 0x01)]).toString('base64');
    for (const [before, after] of [
      [0, 0],
      [9, 0],
      [0, 9],
      [9, 9],
    ] as const) {
      const known = new KnownValues();
      known.learn('correct-horse-battery');
      assert.equal(known.find(Buffer.from(around(before, after))).length, 1, `${before} ${after}`);
    }
  });

  test('can be registered at any time', () => {
    const redactor = new Redactor();
    for (let count = 0; count < 40; count += 1) {
      const value = randomBytes(12).toString('base64');
      assert.ok(count === 0 || !redactor.redact(`x`).includes('[redacted]'));
      redactor.learn(value);
      assert.equal(redactor.redact(`a: ${value}`), 'a: [redacted]');
    }
  });
});
