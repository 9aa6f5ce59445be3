import { gunzip } from '../encodings/decode.ts';

/**
 * The bytes of a file's `content`. Throws a `DOMException` for what is not base64, `MachineadmError` for damaged or too
 * large gzip data.
 */
export async function decodeContent(
  content: string,
  encoding: 'base64' | 'gzip+base64' | undefined,
): Promise<Uint8Array> {
  if (encoding === undefined) return new TextEncoder().encode(content);
  const bytes = Uint8Array.from(atob(content.replace(/\s+/g, '')), (character) => character.charCodeAt(0));
  return encoding === 'base64' ? bytes : gunzip('content', bytes);
}
