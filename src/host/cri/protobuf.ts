/**
 * The part of the protobuf wire format that the CRI queries need (protobuf.dev/programming-guides/encoding): varints,
 * length-delimited fields, and skipping unknown fields, so that newer runtimes may add some.
 */

/** The fields of one message by number, each in the order of arrival; an absent scalar has its default. */
export class ProtobufMessage {
  readonly #numbers = new Map<number, bigint[]>();
  readonly #bytes = new Map<number, Uint8Array[]>();

  /** Throws `RangeError` for a truncated message, or a wire type that proto3 does not have. */
  constructor(encoded: Uint8Array) {
    const reader = new Reader(encoded);
    while (!reader.atEnd()) {
      const key = Number(reader.varint());
      const field = key >>> 3;
      const wireType = key & 7;
      if (wireType === 0) append(this.#numbers, field, reader.varint());
      else if (wireType === 2) append(this.#bytes, field, reader.take(Number(reader.varint())));
      else if (wireType === 1) reader.take(8);
      else if (wireType === 5) reader.take(4);
      else throw new RangeError(`wire type ${wireType} is not part of proto3`);
    }
  }

  string(field: number): string {
    const last = this.#bytes.get(field)?.at(-1);
    return last === undefined ? '' : new TextDecoder().decode(last);
  }

  strings(field: number): readonly string[] {
    return (this.#bytes.get(field) ?? []).map((bytes) => new TextDecoder().decode(bytes));
  }

  boolean(field: number): boolean {
    return this.integer(field) !== 0n;
  }

  /** int32, int64, uint64, bool and enum; negative values are ten bytes of two's complement. */
  integer(field: number): bigint {
    return BigInt.asIntN(64, this.#numbers.get(field)?.at(-1) ?? 0n);
  }

  message(field: number): ProtobufMessage | undefined {
    const last = this.#bytes.get(field)?.at(-1);
    return last === undefined ? undefined : new ProtobufMessage(last);
  }

  messages(field: number): readonly ProtobufMessage[] {
    return (this.#bytes.get(field) ?? []).map((bytes) => new ProtobufMessage(bytes));
  }

  /** `map<string, string>`: encoded as a repeated message with the key as field 1 and the value as field 2. */
  map(field: number): ReadonlyMap<string, string> {
    return new Map(this.messages(field).map((entry) => [entry.string(1), entry.string(2)]));
  }
}

export function stringField(field: number, value: string): Uint8Array {
  return messageField(field, new TextEncoder().encode(value));
}

/** A bool, enum or non-negative integer field. */
export function varintField(field: number, value: number): Uint8Array {
  return Uint8Array.from([...varint(field << 3), ...varint(value)]);
}

/** A nested message that is already encoded. */
export function messageField(field: number, encoded: Uint8Array): Uint8Array {
  return Uint8Array.from([...varint((field << 3) | 2), ...varint(encoded.length), ...encoded]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = BigInt(value);
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return bytes;
}

function append<Value>(fields: Map<number, Value[]>, field: number, value: Value): void {
  const values = fields.get(field);
  if (values === undefined) fields.set(field, [value]);
  else values.push(value);
}

class Reader {
  readonly #bytes: Uint8Array;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  atEnd(): boolean {
    return this.#position >= this.#bytes.length;
  }

  take(length: number): Uint8Array {
    const end = this.#position + length;
    if (end > this.#bytes.length) throw new RangeError('the message is cut short');
    const part = this.#bytes.subarray(this.#position, end);
    this.#position = end;
    return part;
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.take(1)[0] ?? 0;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError('a varint is longer than ten bytes');
  }
}
