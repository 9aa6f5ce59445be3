import { Verbatim } from '../values/verbatim.ts';

/** JSON with sorted keys: the order of keys does not change the digest. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value instanceof Verbatim) return value.text;
  if (value !== null && typeof value === 'object') {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

/** Of Node's process, which browsers lack (https://nodejs.org/api/process.html#processgetbuiltinmoduleid). */
type WithBuiltins = { readonly process?: { getBuiltinModule?(name: string): NodeCrypto | undefined } };
type NodeCrypto = { hash(algorithm: string, data: string): string };

/** The digest in hexadecimal. In Node its own module does it: Web Crypto, which a browser has, takes 20 ms to load there. */
export async function sha256(text: string): Promise<string> {
  const node = (globalThis as WithBuiltins).process?.getBuiltinModule?.('node:crypto');
  if (node !== undefined) return node.hash('sha256', text);
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
