import { gunzip, utf8Text } from '@machineadm/document/encodings/decode.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { fromBase64 } from '../inputs/secrets.ts';

/** A part of user data with its headers, in lower case, and its decoded content. */
export interface MimePart {
  /** `text/cloud-config`; "" where it has none. */
  readonly type: string;
  readonly filename: string | undefined;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
}

/** Parts of user data that somebody may have written; cloud-init knows no limit. */
const MOST_PARTS = 1000;
const DEEPEST = 8;
/** Of all parts together: each may be compressed. */
const MOST_TEXT = 16 * 1024 * 1024;

/** cloudinit/user_data.py, convert_string: where it looks for the header. */
const SEARCHED = 4096;

/** Whether a text is a message with MIME parts, as cloud-init tells it. */
export function isMime(text: string): boolean {
  const head = text.slice(0, SEARCHED).toLowerCase();
  return /^(?:from |[a-z0-9-]{1,60}:)/.test(head) && head.includes('mime-version:');
}

/** Why a message cannot be read; the texts name no content. */
export class MimeError extends Error {}

/**
 * The parts of a message, in their order, without those that only hold others (RFC 2045, RFC 2046). The work grows with the length
 * of the text, times the depth of its nesting, which is limited. Throws `MimeError`.
 */
export async function mimeParts(text: string): Promise<readonly MimePart[]> {
  const parts: MimePart[] = [];
  await readEntity(text, 0, parts);
  return parts;
}

async function readEntity(text: string, depth: number, parts: MimePart[]): Promise<void> {
  if (depth > DEEPEST) throw new MimeError(`its parts are nested more than ${DEEPEST} deep`);
  const { headers, body } = splitHeaders(text);
  const [type = '', parameters] = parametersOf(headers.get('content-type') ?? '');
  if (type.startsWith('multipart/')) {
    const boundary = parameters.get('boundary') ?? '';
    if (boundary === '') throw new MimeError('a part of several parts names no boundary');
    for (const inner of between(body, boundary)) await readEntity(inner, depth + 1, parts);
    return;
  }
  if (parts.length === MOST_PARTS) throw new MimeError(`it has more than ${MOST_PARTS} parts`);
  const [, disposition] = parametersOf(headers.get('content-disposition') ?? '');
  const number = parts.length + 1;
  parts.push({
    type,
    filename: disposition.get('filename') ?? parameters.get('name'),
    headers,
    text: await decoded(body, headers.get('content-transfer-encoding') ?? '', number),
  });
  const size = parts.reduce((sum, { text: content }) => sum + content.length, 0);
  if (size > MOST_TEXT) throw new MimeError('its parts are larger than 16 MiB together');
}

/** The headers up to the first empty line; a line that begins with a blank continues the one before. */
function splitHeaders(text: string): { readonly headers: ReadonlyMap<string, string>; readonly body: string } {
  const headers = new Map<string, string>();
  let name = '';
  let start = 0;
  while (start < text.length) {
    const end = lineEnd(text, start);
    const line = withoutReturn(text.slice(start, end));
    start = end + 1;
    if (line === '') break;
    const colon = line.indexOf(':');
    if (/^[ \t]/.test(line)) headers.set(name, `${headers.get(name) ?? ''} ${line.trim()}`);
    else if (colon > 0) {
      name = line.slice(0, colon).trim().toLowerCase();
      headers.set(name, line.slice(colon + 1).trim());
    }
  }
  return { headers, body: text.slice(start) };
}

function lineEnd(text: string, start: number): number {
  const end = text.indexOf('\n', start);
  return end < 0 ? text.length : end;
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

/** `text/x; a=b; c="d e"`: the value, and its parameters by name. A semicolon in quotes is a part of its value. */
function parametersOf(header: string): readonly [string, ReadonlyMap<string, string>] {
  const pieces: string[] = [];
  let piece = '';
  let isQuoted = false;
  for (let index = 0; index < header.length; index++) {
    const character = header[index] ?? '';
    if (isQuoted && character === '\\') {
      index++;
      piece += header[index] ?? '';
    } else if (character === '"') isQuoted = !isQuoted;
    else if (character === ';' && !isQuoted) {
      pieces.push(piece);
      piece = '';
    } else piece += character;
  }
  const [value = '', ...others] = [...pieces, piece].map((one) => one.trim());
  const parameters = others.flatMap((one): (readonly [string, string])[] => {
    const equals = one.indexOf('=');
    return equals < 0 ? [] : [[one.slice(0, equals).trim().toLowerCase(), one.slice(equals + 1).trim()]];
  });
  return [value.toLowerCase(), new Map(parameters)];
}

/** The texts between the lines of a boundary; the line break before such a line is its own. */
function between(body: string, boundary: string): readonly string[] {
  const found: string[] = [];
  let opened: number | undefined;
  for (let start = 0; start <= body.length; ) {
    const end = lineEnd(body, start);
    const line = body.slice(start, end);
    if (line.startsWith(`--${boundary}`)) {
      const rest = line.slice(boundary.length + 2).trim();
      if (rest === '' || rest === '--') {
        if (opened !== undefined) found.push(withoutReturn(body.slice(opened, Math.max(start - 1, opened))));
        opened = rest === '--' ? undefined : end + 1;
        if (rest === '--') return found;
        if (found.length > MOST_PARTS) throw new MimeError(`it has more than ${MOST_PARTS} parts`);
      }
    }
    start = end + 1;
  }
  // Without its last line, as Python's parser takes it.
  if (opened !== undefined) found.push(body.slice(opened));
  if (found.length === 0) throw new MimeError('no line has its boundary');
  return found;
}

async function decoded(body: string, encoding: string, number: number): Promise<string> {
  switch (encoding.toLowerCase()) {
    case '':
    case '7bit':
    case '8bit':
    case 'binary':
      return body;
    case 'base64':
      return await textOf(fromBase64(body), `part ${number} is not base64 of a text`);
    case 'quoted-printable':
      return await textOf(fromQuotedPrintable(body), `part ${number} is not a text`);
    default:
      throw new MimeError(`part ${number} has a transfer encoding other than 7bit, 8bit, base64 and quoted-printable`);
  }
}

async function textOf(bytes: Uint8Array | undefined, wrong: string): Promise<string> {
  if (bytes === undefined) throw new MimeError(wrong);
  const text = await unzippedText(bytes);
  if (text === undefined) throw new MimeError(wrong);
  return text;
}

/** The text of bytes, compressed with gzip or not; undefined for other bytes. */
export async function unzippedText(bytes: Uint8Array): Promise<string | undefined> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return utf8Text(bytes);
  try {
    return utf8Text(await gunzip('a part', bytes));
  } catch (error) {
    if (error instanceof MachineadmError) return undefined;
    throw error;
  }
}

/** RFC 2045, 6.7: `=41` is a byte, and an equals sign at the end of a line joins it with the next. */
function fromQuotedPrintable(body: string): Uint8Array {
  const bytes: number[] = [];
  const write = (text: string): void => {
    for (const byte of new TextEncoder().encode(text)) bytes.push(byte);
  };
  const lines = body.split('\n');
  for (const [index, whole] of lines.entries()) {
    const line = whole.trimEnd();
    const isJoined = line.endsWith('=');
    const [first = '', ...others] = (isJoined ? line.slice(0, -1) : line).split('=');
    write(first);
    for (const piece of others) {
      // Without digits it is an equals sign, as for Python's decoder.
      const isByte = /^[0-9A-Fa-f]{2}/.test(piece);
      if (isByte) bytes.push(Number.parseInt(piece.slice(0, 2), 16));
      write(isByte ? piece.slice(2) : `=${piece}`);
    }
    if (!isJoined && index < lines.length - 1) bytes.push(0x0a);
  }
  return Uint8Array.from(bytes);
}
