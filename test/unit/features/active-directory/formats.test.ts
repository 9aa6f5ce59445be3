import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { readBlob } from '../../../../src/features/active-directory/blob.ts';
import { readKeytab } from '../../../../src/features/active-directory/keytab.ts';
import { readClock } from '../../../../src/host/network/directory.ts';
import { keytab, offlineBlob } from '../../../support/active-directory.ts';

describe('a keytab', () => {
  test('names the principals of its keys', () => {
    const bytes = keytab(['NODE-1$@CORP.EXAMPLE.COM', 'host/node-1@CORP.EXAMPLE.COM']);
    assert.deepEqual(readKeytab(bytes), [
      { principal: 'NODE-1$@CORP.EXAMPLE.COM' },
      { principal: 'host/node-1@CORP.EXAMPLE.COM' },
    ]);
  });

  test('may have holes, where entries were removed', () => {
    const whole = keytab(['A$@R', 'B$@R']);
    const first = new DataView(whole.buffer, whole.byteOffset).getInt32(2);
    new DataView(whole.buffer, whole.byteOffset).setInt32(2, -first);
    assert.deepEqual(readKeytab(whole), [{ principal: 'B$@R' }]);
  });

  test('that is cut off, or none, is not read', () => {
    const whole = keytab(['NODE-1$@CORP.EXAMPLE.COM']);
    assert.equal(readKeytab(whole.subarray(0, whole.length - 3)), undefined);
    assert.equal(readKeytab(Buffer.from('# krb5.keytab')), undefined);
    assert.equal(readKeytab(new Uint8Array()), undefined);
  });
});

describe('an offline join blob', () => {
  const text = offlineBlob({ domain: 'corp.example.com', computer: 'NODE-1', password: 'pass-of-the-computer' });

  test('names its computer, and its password becomes a secret', () => {
    const blob = readBlob(text);
    assert.deepEqual([blob?.domain, blob?.computer, blob?.netbiosDomain], ['corp.example.com', 'NODE-1', 'CORP']);
    assert.equal(redact('it is pass-of-the-computer'), 'it is [redacted]');
  });

  test('is the same with line breaks, and read as UTF-8 from the file that djoin writes', () => {
    const file = Buffer.from(`\uFEFF${text}\0`, 'utf16le');
    for (const form of [`${text.slice(0, 60)}\r\n${text.slice(60)}\n`, file.toString('utf8')]) {
      assert.equal(readBlob(form)?.computer, 'NODE-1');
    }
    assert.deepEqual(Buffer.from(readBlob(text)?.file ?? []), file);
  });

  test('that is cut off, damaged, or none, is not read', () => {
    for (const bad of ['', 'garbage!', 'Z2FyYmFnZQ==', text.slice(0, -40), `AAAA${text.slice(4)}`]) {
      assert.equal(readBlob(bad), undefined, bad.slice(0, 20));
    }
  });
});

describe("the controller's clock", () => {
  test('is read from the answer of the rootDSE', () => {
    const answer = Buffer.concat([
      Buffer.from('3084000000330201016484000000000400', 'hex'),
      Buffer.from('currentTime'),
      Buffer.from('31840000001304 11'.replace(' ', ''), 'hex'),
      Buffer.from('20261120230102.0Z'),
    ]);
    assert.equal(readClock(answer), Date.UTC(2026, 10, 20, 23, 1, 2));
  });

  test('is unknown where the answer has none', () => {
    assert.equal(readClock(Buffer.from('currentTime')), undefined);
    assert.equal(readClock(Buffer.alloc(0)), undefined);
  });
});
