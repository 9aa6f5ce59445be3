import { readFileSync, writeFileSync } from 'node:fs';
import { bytesToSign, type RootContent, unsignedRoot, withSignature } from '../../src/trust/root.ts';
import type { TestKey } from './release.ts';

/** A root for tests: who signs the next one, and who signs lists. */
export interface TestRoot {
  readonly name?: string;
  readonly version?: number;
  readonly root: readonly TestKey[];
  readonly rootThreshold?: number;
  readonly lists?: readonly TestKey[];
  readonly threshold?: number;
  readonly createdAt?: string;
  readonly expiresAt?: string;
}

/** The text of a root, signed with these keys; default: with all that it names. */
export async function rootText(wish: TestRoot, signers: readonly TestKey[] = wish.root): Promise<string> {
  let root = unsignedRoot(contentOf(wish));
  for (const one of signers) root = withSignature(root, one.keyId, await one.sign(bytesToSign(root)));
  return root.text;
}

/** What the text of a root says before it is signed. */
export function contentOf(wish: TestRoot): RootContent {
  const { name = 'example.com', version = 1, root, lists = root, createdAt = '2026-01-02T03:04:05Z', expiresAt } = wish;
  return {
    apiVersion: 'machineadm.dev/trust-root/v1',
    kind: 'TrustRoot',
    name,
    version,
    createdAt,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    root: { threshold: wish.rootThreshold ?? root.length, keys: root.map(({ publicKey }) => publicKey) },
    lists: { threshold: wish.threshold ?? 1, keys: lists.map(({ publicKey }) => publicKey) },
  };
}

/** The text of a root file with other content, whose signatures are kept: what someone without the keys can make. */
export function withContent(text: string, change: (content: RootContent) => object): string {
  const envelope = JSON.parse(text) as { payload: string };
  const content = JSON.parse(Buffer.from(envelope.payload, 'base64').toString('utf8')) as RootContent;
  return JSON.stringify({ ...envelope, payload: Buffer.from(JSON.stringify(change(content))).toString('base64') });
}

/** Writes the text of a root into a file and returns its path. */
export function writtenRoot(path: string, text: string): string {
  writeFileSync(path, text);
  return path;
}

/** The version in a root file. */
export function versionIn(path: string): number {
  const { payload } = JSON.parse(readFileSync(path, 'utf8')) as { payload: string };
  return (JSON.parse(Buffer.from(payload, 'base64').toString('utf8')) as RootContent).version;
}
