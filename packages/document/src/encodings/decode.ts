import { MachineadmError } from '../outcomes/errors.ts';

/** Size limit of a document, as read and as decompressed. */
const MAX_DOCUMENT_BYTES = 4 * 1024 * 1024;

/**
 * The text of a document source: plain, gzip, base64, or base64 of gzip, which is detected from the bytes. Throws
 * `DocumentTooLarge` above 4 MiB of text, `DocumentInvalid` for damaged compression or text that is not UTF-8.
 */
export async function decodeSource(name: string, bytes: Uint8Array): Promise<string> {
  if (bytes.length > MAX_DOCUMENT_BYTES) throw tooLarge(name);
  const unwrapped = isGzip(bytes) ? bytes : (fromBase64(bytes) ?? bytes);
  const plain = isGzip(unwrapped) ? await gunzip(name, unwrapped) : unwrapped;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(plain);
  } catch (cause) {
    throw new MachineadmError({
      reason: 'DocumentInvalid',
      summary: `${name}: the document is not UTF-8 text: ${placeOfFault(plain)}`,
      remedy: 'Use a YAML or JSON document: plain, gzip, base64, or gzip in base64.',
      cause,
    });
  }
}

function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

const BASE64_BYTES = new Set(
  new TextEncoder().encode('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/= \t\r\n'),
);

/** The text of UTF-8 bytes, including a byte order mark; undefined for other bytes. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The place of the first byte that is not UTF-8: `byte 17 (line 2, column 5)`. */
function placeOfFault(bytes: Uint8Array): string {
  // The longest valid prefix: in streaming mode a decoder accepts a truncated character.
  let [valid, broken] = [0, bytes.length];
  const decoder = () => new TextDecoder('utf-8', { fatal: true });
  while (broken - valid > 1) {
    const middle = (valid + broken) >> 1;
    try {
      decoder().decode(bytes.subarray(0, middle), { stream: true });
      valid = middle;
    } catch {
      broken = middle;
    }
  }
  const before = new TextDecoder().decode(bytes.subarray(0, valid), { stream: true });
  const lines = before.split('\n');
  return `byte ${valid + 1} (line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1})`;
}

/**
 * The decoded bytes of base64 text; undefined when it is not base64 of a document. A short YAML scalar is also valid
 * base64, so only gzip or text with an apiVersion counts.
 */
function fromBase64(bytes: Uint8Array): Uint8Array | undefined {
  if (!bytes.every((byte) => BASE64_BYTES.has(byte))) return undefined;
  const text = new TextDecoder().decode(bytes).replace(/\s+/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  let decoded: Uint8Array;
  try {
    decoded = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
  return isGzip(decoded) || new TextDecoder().decode(decoded).includes('apiVersion') ? decoded : undefined;
}

/**
 * Decompresses at most 4 MiB. `name` is used in the error. Throws `DocumentTooLarge`, or `DocumentInvalid` for damaged
 * or truncated data.
 */
export async function gunzip(name: string, bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([Uint8Array.from(bytes)]).stream().pipeThrough(new DecompressionStream('gzip'));
  const reader = stream.getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      size += piece.value.length;
      if (size > MAX_DOCUMENT_BYTES) {
        await reader.cancel();
        throw tooLarge(name);
      }
      pieces.push(piece.value);
    }
  } catch (cause) {
    if (cause instanceof MachineadmError) throw cause;
    throw new MachineadmError({
      reason: 'DocumentInvalid',
      summary: `${name}: the gzip data is damaged or truncated: ${bytes.length} bytes, readable up to byte ${size} of the text`,
      remedy: 'Compress the document again, and check that it was not truncated on its way.',
      cause,
    });
  }
  const whole = new Uint8Array(size);
  let offset = 0;
  for (const piece of pieces) {
    whole.set(piece, offset);
    offset += piece.length;
  }
  return whole;
}

function tooLarge(name: string): MachineadmError {
  return new MachineadmError({
    reason: 'DocumentTooLarge',
    summary: `${name}: the document is larger than 4 MiB`,
    remedy: 'Keep large files out of the document: bake them into the image, or refer to them with contentFrom.',
  });
}
