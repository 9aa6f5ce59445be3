import { gunzip, utf8Text } from '@machineadm/document/encodings/decode.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { fromBase64, toBase64 } from '../inputs/secrets.ts';

/** Content of a document's file: a text, or bytes in base64. */
export interface Content {
  readonly text: string;
  readonly encoding: 'base64' | undefined;
}

/** What a `data:` URL holds (RFC 2397), decompressed; undefined for one that is wrong. */
export async function dataContent(url: string, isCompressed: boolean): Promise<Content | undefined> {
  const comma = url.indexOf(',');
  if (comma < 0) return undefined;
  const body = url.slice(comma + 1);
  const raw = url.slice(0, comma).endsWith(';base64') ? fromBase64(percentText(body)) : percentBytes(body);
  if (raw === undefined) return undefined;
  try {
    const bytes = isCompressed ? await gunzip('a file', raw) : raw;
    const text = utf8Text(bytes);
    return text === undefined ? { text: toBase64(bytes), encoding: 'base64' } : { text, encoding: undefined };
  } catch (error) {
    if (error instanceof MachineadmError) return undefined;
    throw error;
  }
}

function percentText(body: string): string {
  return body.includes('%') ? (utf8Text(percentBytes(body)) ?? '') : body;
}

/** Bytes of a percent-encoded text, which need not be UTF-8. A percent sign without digits is one. */
function percentBytes(body: string): Uint8Array {
  const [first = '', ...others] = body.split('%');
  const bytes: number[] = [];
  const write = (text: string): void => {
    for (const byte of new TextEncoder().encode(text)) bytes.push(byte);
  };
  write(first);
  for (const piece of others) {
    const isByte = /^[0-9A-Fa-f]{2}/.test(piece);
    if (isByte) bytes.push(Number.parseInt(piece.slice(0, 2), 16));
    write(isByte ? piece.slice(2) : `%${piece}`);
  }
  return Uint8Array.from(bytes);
}
