import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { messageField, ProtobufMessage, stringField, varintField } from '../../../../src/host/cri/protobuf.ts';

const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'));

describe('protobuf wire format', () => {
  test('encodes the examples of the encoding guide', () => {
    // protobuf.dev/programming-guides/encoding: `int32 a = 1` of 150, `string b = 2` of "testing", `Test1 c = 3`.
    assert.deepEqual(varintField(1, 150), bytes('08 96 01'));
    assert.deepEqual(stringField(2, 'testing'), bytes('12 07 74 65 73 74 69 6e 67'));
    assert.deepEqual(messageField(3, varintField(1, 150)), bytes('1a 03 08 96 01'));
  });

  test('reads what it writes, for field numbers and lengths beyond one byte', () => {
    const long = 'ä'.repeat(300);
    const message = new ProtobufMessage(messageField(99, stringField(16, long)));
    assert.equal(message.message(99)?.string(16), long);
  });

  test('negative integers are two’s complement in ten bytes', () => {
    const message = new ProtobufMessage(bytes('08 ff ff ff ff ff ff ff ff ff 01'));
    assert.equal(message.integer(1), -1n);
  });

  test('absent fields have their default', () => {
    const empty = new ProtobufMessage(new Uint8Array(0));
    assert.equal(empty.string(1), '');
    assert.equal(empty.integer(1), 0n);
    assert.equal(empty.boolean(1), false);
    assert.equal(empty.message(1), undefined);
    assert.deepEqual(empty.strings(1), []);
  });

  test('repeated fields keep their order and a map is its entries', () => {
    const encoded = Buffer.concat([
      stringField(1, 'a'),
      stringField(1, 'b'),
      messageField(2, Buffer.concat([stringField(1, 'key'), stringField(2, 'value')])),
    ]);
    const message = new ProtobufMessage(encoded);
    assert.deepEqual(message.strings(1), ['a', 'b']);
    assert.deepEqual(message.map(2), new Map([['key', 'value']]));
  });

  test('fields of a newer version, fixed-size ones too, are skipped', () => {
    const message = new ProtobufMessage(bytes('49 00 00 00 00 00 00 00 00  55 00 00 00 00  08 01'));
    assert.equal(message.integer(1), 1n);
  });

  test('a message cut short, an endless varint and a group are refused', () => {
    assert.throws(() => new ProtobufMessage(bytes('0a 05 61')), RangeError);
    assert.throws(() => new ProtobufMessage(bytes('08 ff ff ff ff ff ff ff ff ff ff')), RangeError);
    assert.throws(() => new ProtobufMessage(bytes('0b')), RangeError);
  });
});
