/** base64 of the text's UTF-8. */
export function base64(text: string): string {
  return bytesToBase64(new TextEncoder().encode(text));
}

/** Offset and Unix value of the operating system in a gzip header (RFC 1952, 2.3: OS). */
const GZIP_SYSTEM = 9;
const GZIP_UNIX = 3;

/**
 * base64 of gzip of the text: cloud-init's `gz+b64`. Normalises gzip's OS byte, which zlib sets differently on Windows.
 */
export async function gzipBase64(text: string): Promise<string> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  bytes[GZIP_SYSTEM] = GZIP_UNIX;
  return bytesToBase64(bytes);
}

/** Lower-case hex SHA-512 of the text's UTF-8. */
export async function sha512(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-512', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** As many arguments as every engine takes. */
const PIECE = 0x2000;

function bytesToBase64(bytes: Uint8Array): string {
  let text = '';
  for (let from = 0; from < bytes.length; from += PIECE)
    text += String.fromCharCode(...bytes.subarray(from, from + PIECE));
  return btoa(text);
}
