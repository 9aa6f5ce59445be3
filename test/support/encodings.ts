/** A way of writing a value that programs use. */
export interface Encoding {
  readonly name: string;
  encode(value: string): string;
}

const bytesOf = (value: string): readonly number[] => [...Buffer.from(value)];
const hex = (number: number, digits: number): string => number.toString(16).padStart(digits, '0');
const units = (value: string): readonly number[] => Array.from(value.split(''), (unit) => unit.charCodeAt(0));
const base64At = (value: string, offset: number): string =>
  Buffer.from(`${'abc'.slice(0, offset)}${value}xy`).toString('base64');
const json = (value: string): string => JSON.stringify(value).slice(1, -1);

/** The encodings in which a secret could leave a machine; canaries and the redactor's tests use the same. */
export const ENCODINGS: readonly Encoding[] = [
  { name: 'plain', encode: (value) => value },
  { name: 'base64, first offset', encode: (value) => base64At(value, 0) },
  { name: 'base64, second offset', encode: (value) => base64At(value, 1) },
  { name: 'base64, third offset', encode: (value) => base64At(value, 2) },
  { name: 'base64url', encode: (value) => Buffer.from(value).toString('base64url') },
  { name: 'base64 in lines', encode: (value) => (base64At(value.repeat(3), 1).match(/.{1,20}/g) ?? []).join('\n  ') },
  { name: 'base64 of UTF-16 (PowerShell)', encode: (value) => Buffer.from(value, 'utf16le').toString('base64') },
  { name: 'hexadecimal', encode: (value) => Buffer.from(value).toString('hex') },
  { name: 'hexadecimal, capitals', encode: (value) => Buffer.from(value).toString('hex').toUpperCase() },
  { name: 'URL', encode: encodeURIComponent },
  {
    name: 'URL, every byte',
    encode: (value) =>
      bytesOf(value)
        .map((byte) => `%${hex(byte, 2)}`)
        .join(''),
  },
  { name: 'JSON', encode: json },
  {
    // encoding/json, HTMLEscape: < > & as \u003c; invalid text as \ufffd.
    name: 'JSON of Go',
    encode: (value) => json(value).replace(/[<>&]/g, (letter) => `\\u${hex(letter.charCodeAt(0), 4)}`),
  },
  {
    // json.dumps(ensure_ascii=True)
    name: 'JSON of Python',
    encode: (value) =>
      json(value)
        .split('')
        .map((unit) => (unit.charCodeAt(0) < 0x80 ? unit : `\\u${hex(unit.charCodeAt(0), 4)}`))
        .join(''),
  },
  {
    name: 'JSON, every letter escaped',
    encode: (value) =>
      units(value)
        .map((unit) => `\\u${hex(unit, 4)}`)
        .join(''),
  },
  { name: 'JSON in JSON', encode: (value) => json(JSON.stringify({ inner: value })) },
  { name: 'JSON in JSON in JSON', encode: (value) => json(JSON.stringify(JSON.stringify({ inner: value }))) },
  {
    name: 'XML',
    encode: (value) =>
      value
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;')
        .replaceAll("'", '&apos;'),
  },
  {
    name: 'XML, numbers',
    encode: (value) => Array.from(value, (letter) => `&#x${letter.codePointAt(0)?.toString(16)};`).join(''),
  },
  { name: 'YAML, single quotes', encode: (value) => `'${value.replaceAll("'", "''")}'` },
  { name: 'YAML, double quotes', encode: (value) => `"${value.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"` },
  { name: 'YAML block', encode: (value) => `|\n${value.replace(/^/gm, '      ')}` },
  { name: 'shell, single quotes', encode: (value) => `'${value.replaceAll("'", `'\\''`)}'` },
  { name: 'shell, double quotes', encode: (value) => `"${value.replace(/["$`\\]/g, '\\$&')}"` },
  { name: 'shell, backslashes', encode: (value) => value.replace(/[^\w\n]/gu, '\\$&') },
  {
    name: "shell, $'…'",
    encode: (value) =>
      `$'${bytesOf(value)
        .map((byte) => `\\x${hex(byte, 2)}`)
        .join('')}'`,
  },
  {
    name: 'octal',
    encode: (value) =>
      bytesOf(value)
        .map((byte) => `\\${byte.toString(8).padStart(3, '0')}`)
        .join(''),
  },
  { name: 'base64 of JSON', encode: (value) => Buffer.from(JSON.stringify({ a: 1, value })).toString('base64') },
  {
    name: 'base64 of base64 of JSON',
    encode: (value) =>
      Buffer.from(`data: ${Buffer.from(JSON.stringify({ value })).toString('base64')}\n`).toString('base64'),
  },
  { name: 'URL of JSON', encode: (value) => encodeURIComponent(JSON.stringify({ value })) },
];
