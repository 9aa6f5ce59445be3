import { Secret } from '@machineadm/document/secrets/secret.ts';

/** The subject of an offline join blob. */
export interface OfflineBlob {
  /** As given when the blob was created: DNS or NetBIOS name. */
  readonly domain: string;
  readonly computer: string;
  /** The short name of the domain. */
  readonly netbiosDomain: string;
  /** Of the computer account. */
  readonly password: Secret;
  /** The file format of djoin and net: UTF-16LE with a byte order mark, base64, a NUL at the end. */
  readonly file: Uint8Array;
}

/** The beginning of every such blob: the header of a serialized NDR type ([MS-RPCE] 2.2.6.1). */
const NDR_HEADER = Buffer.from('01100800cccccccc', 'hex');

/** No name is longer; a larger count is not a string but other data. */
const LONGEST_STRING = 1024;

/**
 * Parses the head of ODJ_PROVISION_DATA (Samba librpc/idl/ODJ.idl; djoin /provision): domain, computer, its password,
 * then the short name of the domain. The text may be the output of `djoin /printblob`, or the content of a blob's file,
 * read as UTF-8. The password inside is registered as a secret. undefined: damaged, or not a blob.
 */
export function readBlob(text: string): OfflineBlob | undefined {
  const base64 = text.replace(/[\s\0\uFEFF\uFFFD]/g, '');
  if (base64 === '' || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  if (!bytes.subarray(0, NDR_HEADER.length).equals(NDR_HEADER) || !isWhole(bytes)) return undefined;
  const strings = stringsOf(bytes, 4);
  const [domain, computer, password, netbiosDomain] = strings;
  if (domain === undefined || computer === undefined || password === undefined || netbiosDomain === undefined)
    return undefined;
  const file = Buffer.from(`\uFEFF${base64}\0`, 'utf16le');
  return { domain, computer, netbiosDomain, password: new Secret(password), file };
}

/** The header is followed by the length of its data. */
function isWhole(bytes: Buffer): boolean {
  return bytes.length >= 16 && bytes.length >= 16 + bytes.readUInt32LE(8);
}

/**
 * The first `count` conformant varying strings of UTF-16: maximum, offset 0, length, and the characters, aligned to
 * four bytes. A counted string (RPC_UNICODE_STRING, as the short name is) has no NUL at its end.
 */
function stringsOf(bytes: Buffer, count: number): readonly string[] {
  const found: string[] = [];
  for (let at = 16; at + 12 <= bytes.length && found.length < count; ) {
    const maximum = bytes.readUInt32LE(at);
    const length = bytes.readUInt32LE(at + 8);
    const end = at + 12 + 2 * length;
    const isString =
      bytes.readUInt32LE(at + 4) === 0 &&
      length > 1 &&
      length <= maximum &&
      maximum - length <= 1 &&
      maximum <= LONGEST_STRING &&
      end <= bytes.length;
    if (isString) {
      found.push(bytes.toString('utf16le', at + 12, end).replace(/\0$/, ''));
      at = end + (end % 4);
    } else {
      at += 4;
    }
  }
  return found;
}
