import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withChecksum, withoutChecksum } from '../../../../src/host/files/checksum.ts';

describe('a checksum in JSON', () => {
  const values = [
    { is: 'run', n: 1 },
    { nested: { list: [1, '}', '"crc32":"00000000"}'] } },
    { text: 'größe \u2028 "x"' },
  ];
  for (const value of values) {
    for (const indent of [undefined, 2]) {
      const json = JSON.stringify(value, undefined, indent);
      test(`leaves ${json.slice(0, 30)} JSON, and comes off again`, () => {
        const text = withChecksum(json);
        const { crc32, ...rest } = JSON.parse(text);
        assert.match(crc32, /^[0-9a-f]{8}$/);
        assert.deepEqual(rest, value);
        assert.equal(withoutChecksum(text), json);
        assert.equal(withoutChecksum(`${text}\n`)?.trimEnd(), json);
      });

      test(`detects a change of each bit of ${json.slice(0, 30)}`, () => {
        const bytes = Buffer.from(withChecksum(json));
        for (let bit = 0; bit < bytes.length * 8; bit += 1) {
          const damaged = Buffer.from(bytes);
          damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
          const found = withoutChecksum(damaged.toString());
          if (found === undefined) continue;
          // What is let through was damaged in the field itself: the rest is as it was, or it is no JSON any more.
          const parsed = (() => {
            try {
              return JSON.parse(found);
            } catch {
              return undefined;
            }
          })();
          if (parsed === undefined) continue;
          for (const [key, field] of Object.entries(value)) assert.deepEqual(parsed[key], field, `bit ${bit}`);
        }
      });
    }
  }

  test('is not missed where an earlier version wrote none, and is not put into what is no object', () => {
    assert.equal(withoutChecksum('{"a":1}'), '{"a":1}');
    assert.equal(withChecksum('plan'), 'plan');
  });
});
