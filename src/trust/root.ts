import { createHash } from 'node:crypto';
import { errorMessage, type MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import * as z from 'zod';
import { checkedJson } from './checked-json.ts';
import { preAuthentication } from './dsse.ts';
import { parseKey, type TrustedKey } from './keys.ts';
import { refusal } from './refusals.ts';
import { findSigner, type Signer } from './signature.ts';
import type { Signers, TrustRoot } from './store.ts';

/** The file of a trust directory with its signed root. */
export const ROOT = 'root.json';

export const ROOT_PAYLOAD_TYPE = 'application/vnd.machineadm.trust-root.v1+json';

/** Limit of a root file: 32 keys and 16 signatures are a tenth of it. */
export const ROOT_LIMIT = 64 * 1024;

/** As many as a set of signatures may have. */
const MAX_SIGNATURES = 16;

const Role = z.object({
  /** How many different ones of the keys must have signed. */
  threshold: z.int().min(1).max(9),
  /** SubjectPublicKeyInfo in DER, base64. A label of a key would count for nothing: its id is computed. */
  keys: z.array(z.base64().max(256)).min(1).max(16),
});

const Root = z.object({
  apiVersion: z.literal('machineadm.dev/trust-root/v1'),
  kind: z.literal('TrustRoot'),
  name: z.string().regex(/^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/),
  version: z.int().positive(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().optional(),
  root: Role,
  lists: Role,
});

/** What a root says before it is parsed. Unknown fields are ignored. */
export type RootContent = z.infer<typeof Root>;

/** A DSSE envelope (secure-systems-lab/dsse envelope.md) around the root. */
const Envelope = z.object({
  payload: z.base64(),
  payloadType: z.literal(ROOT_PAYLOAD_TYPE),
  signatures: z.array(z.object({ keyid: z.string().max(64).optional(), sig: z.base64().max(256) })).max(MAX_SIGNATURES),
});

const REMEDY =
  'Use a root that its publisher made with "machineadm trust create" and "machineadm trust sign"; "machineadm trust check FILE" says what it lacks.';

/** The text of a root without signatures. Throws as `parseRoot`. */
export function unsignedRoot(content: RootContent): TrustRoot {
  const payload = Buffer.from(`${JSON.stringify(content, undefined, 2)}\n`).toString('base64');
  return parseRoot(envelopeText({ payload, payloadType: ROOT_PAYLOAD_TYPE, signatures: [] }), 'the new root');
}

/** Parses a root and verifies no signature: `verifyRoot` and `verifyNext` do. Throws `TrustRootRefused`. */
export function parseRoot(text: string, source: string): TrustRoot {
  const { payload } = envelopeIn(text, source);
  const bytes = Buffer.from(payload, 'base64');
  const root = checkedJson(Root, bytes.toString('utf8'));
  if (!root.ok) {
    const { path, message } = root.issue ?? { path: 'it', message: 'is not JSON' };
    throw refused(`${source} is not a root: ${path}: ${message}`);
  }
  const { name, version, createdAt, expiresAt } = root.value;
  return {
    name,
    version,
    createdAt: new Date(createdAt),
    expiresAt: expiresAt === undefined ? undefined : new Date(expiresAt),
    root: signersOf(root.value.root, 'root', source),
    lists: signersOf(root.value.lists, 'lists', source),
    text,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  };
}

/** The bytes that a key signs: with their type, so that they cannot be taken for a list. */
export function bytesToSign({ text }: TrustRoot): Uint8Array {
  return preAuthentication(Buffer.from(envelopeIn(text, ROOT).payload, 'base64'), ROOT_PAYLOAD_TYPE);
}

/** The same root with one more signature, which replaces an earlier one of the same key. Throws `TrustRootRefused`. */
export function withSignature({ text }: TrustRoot, keyid: string, signature: Uint8Array): TrustRoot {
  const { signatures, ...envelope } = envelopeIn(text, ROOT);
  const others = signatures.filter((one) => one.keyid !== keyid);
  if (others.length === MAX_SIGNATURES) throw refused(`a root has at most ${MAX_SIGNATURES} signatures`);
  const sig = Buffer.from(signature).toString('base64');
  return parseRoot(envelopeText({ ...envelope, signatures: [...others, { keyid, sig }] }), ROOT);
}

/**
 * Verifies that a root is signed as it demands itself. Throws `SignatureInvalid`, `TooFewSignatures`,
 * `SigningKeyRevoked`.
 *
 * @param revoked ids of keys that the operator of this machine revoked
 */
export function verifyRoot(root: TrustRoot, revoked: ReadonlySet<string>, source: string): Promise<Signer> {
  return signedBy(root, root.root, revoked, source);
}

/**
 * Verifies that a root follows another one: it is the next version of the same name, and is signed by the keys of the
 * earlier one and by its own (the TUF specification, 5.3). Its expiry is checked where it is used: the next root must be
 * reachable from an expired one. Throws `RolledBack`, `TrustRootRefused`, and as `verifyRoot` does.
 */
export async function verifyNext(
  before: TrustRoot,
  next: TrustRoot,
  revoked: ReadonlySet<string>,
  source: string,
): Promise<void> {
  if (next.name !== before.name) throw refused(`${source} is a root of "${next.name}", not of "${before.name}"`);
  if (next.version <= before.version) throw rolledBack(next, before.version, source);
  if (next.version !== before.version + 1) {
    throw refused(
      `${source} is version ${next.version} of the root "${next.name}": version ${before.version + 1} must come first`,
      'Give all versions between, in their order: each is verified by the one before it.',
    );
  }
  await signedBy(next, before.root, revoked, `${source}, by the keys of version ${before.version},`);
  await verifyRoot(next, revoked, source);
}

/** A root that is older than one that was trusted, or another one of the same version. */
export function rolledBack({ name, version }: TrustRoot, seen: number, source: string): MachineadmError {
  const what = version === seen ? `another version ${seen}` : `version ${seen}`;
  return refusal(
    'RolledBack',
    `${source} is version ${version} of the root "${name}"; ${what} is trusted`,
    [],
    'Use the newest root of the publisher. If this one is meant, find out why the other one is trusted.',
  );
}

function signedBy(root: TrustRoot, signers: Signers, revoked: ReadonlySet<string>, source: string): Promise<Signer> {
  const { signatures } = envelopeIn(root.text, source);
  if (signatures.length === 0) {
    throw refusal(
      'TooFewSignatures',
      `${source} is signed with 0 of the ${signers.threshold} keys demanded`,
      [],
      REMEDY,
    );
  }
  const set = { signatures: signatures.map(({ sig }) => ({ signature: sig })) };
  const signature = { kind: 'set', bytes: Buffer.from(JSON.stringify(set)) } as const;
  const trust = { ...signers, revoked, minimumVersion: undefined };
  // The days of keys count nowhere in a root: it has an expiry of its own.
  return findSigner(source, [bytesToSign(root)], signature, trust, root.createdAt);
}

function signersOf({ threshold, keys: all }: z.infer<typeof Role>, field: string, source: string): Signers {
  const keys = all.map((key) => keyIn(key, `${source} (${field})`));
  if (new Set(keys.map(({ id }) => id)).size < keys.length) throw refused(`${source} has a key twice in ${field}`);
  if (keys.length < threshold) {
    throw refused(`${source} demands ${threshold} signatures in ${field}, and has ${keys.length} keys there`);
  }
  return { threshold, keys };
}

/** A bad key is one of the file, not of this machine: another location may serve a better file. */
function keyIn(base64: string, source: string): TrustedKey {
  try {
    return parseKey(base64, source);
  } catch (error) {
    throw refused(errorMessage(error));
  }
}

function envelopeIn(text: string, source: string): z.infer<typeof Envelope> {
  const envelope = checkedJson(Envelope, text);
  if (!envelope.ok) throw refused(`${source} is not a DSSE envelope of a root`);
  return envelope.value;
}

function envelopeText(envelope: z.infer<typeof Envelope>): string {
  return `${JSON.stringify(envelope, undefined, 2)}\n`;
}

function refused(summary: string, remedy = REMEDY): MachineadmError {
  return refusal('TrustRootRefused', summary, [], remedy);
}
