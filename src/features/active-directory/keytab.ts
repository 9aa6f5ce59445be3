/** The principals of a keytab; keys are not read. */
export interface KeytabEntry {
  /** `NODE-1$@CORP.EXAMPLE.COM`, `host/node-1@CORP.EXAMPLE.COM`. */
  readonly principal: string;
}

/**
 * The entries of a keytab of version 0x0502 (MIT krb5 doc/formats/keytab_file_format.rst): big-endian, each entry
 * preceded by its length, a negative length is a hole. undefined: it is not a keytab, or truncated.
 */
export function readKeytab(bytes: Uint8Array): readonly KeytabEntry[] | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 2 || view.getUint16(0) !== 0x0502) return undefined;
  const entries: KeytabEntry[] = [];
  let at = 2;
  try {
    while (at + 4 <= bytes.length) {
      const length = view.getInt32(at);
      at += 4;
      if (length === 0) break;
      if (length > 0) entries.push({ principal: principalAt(view, at) });
      at += Math.abs(length);
    }
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
  return at > bytes.length ? undefined : entries;
}

function principalAt(view: DataView, start: number): string {
  let at = start;
  const next = (): string => {
    const length = view.getUint16(at);
    const text = new TextDecoder().decode(new Uint8Array(view.buffer, view.byteOffset + at + 2, length));
    at += 2 + length;
    return text;
  };
  const components = view.getUint16(at);
  at += 2;
  const realm = next();
  return `${Array.from({ length: components }, next).join('/')}@${realm}`;
}
