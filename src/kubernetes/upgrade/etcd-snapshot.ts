import { createHash, type Hash } from 'node:crypto';
import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { streamOnce } from '../../host/http/request-once.ts';
import type { Host } from '../../host/seam/host.ts';
import type { LocalEtcd } from '../local-etcd.ts';

/** A snapshot of etcd on the disk. */
export interface Snapshot {
  readonly path: string;
  /** In bytes, with the digest at its end. */
  readonly size: number;
  /** Of the database, in lower-case hex. */
  readonly sha256: string;
}

/** etcd appends the SHA-256 of the database (etcd server/etcdserver/api/v3rpc/maintenance.go, Snapshot). */
const DIGEST_BYTES = 32;
/** bbolt page.go, db.go: a page header of 16 bytes precedes the magic number of the first meta page. */
const MAGIC_AT = 16;
const MAGIC = 0xed_0c_da_ed;
const MINUTE_MS = 60_000;
const LONGEST_MS = 30 * MINUTE_MS;
/** etcd sends 32 KiB at a time, in base64. */
const LONGEST_LINE = 4 * 1024 * 1024;

/**
 * Takes a snapshot through etcd's JSON gateway, and verifies it as `etcdctl snapshot status` does: the digest that etcd
 * sent must be that of what is on the disk, which must be a database.
 *
 * @throws MachineadmError `EtcdSnapshotFailed`
 */
export async function takeSnapshot(host: Host, etcd: LocalEtcd, path: string, signal: AbortSignal): Promise<Snapshot> {
  const [endpoint = ''] = etcd.endpoints;
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_MS)]);
    const request = {
      method: 'POST' as const,
      headers: { 'content-type': 'application/json', 'content-length': '2' },
      body: '{}',
      ca: etcd.certificateAuthority,
      cert: etcd.certificate,
      key: etcd.key.reveal(),
      signal: limit,
    };
    await streamOnce(new URL('/v3/maintenance/snapshot', endpoint), request, async (body) => {
      await host.writeFile({ path, content: blobsOf(body), mode: 0o600, directoryMode: 0o700 });
    });
    await host.sync(path);
    return await verify(host, path);
  } catch (error) {
    signal.throwIfAborted();
    await host.removeFile(path);
    throw snapshotFailed(endpoint, errorMessage(error));
  }
}

/** Each line is `{"result": {"blob": "…"}}`, or an error. */
async function* blobsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest = '';
  for await (const piece of body) {
    rest += Buffer.from(piece).toString('latin1');
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > LONGEST_LINE) throw new Error('the answer of etcd is not that of a snapshot');
    for (const line of lines) yield blobOf(line);
  }
  if (rest.trim() !== '') yield blobOf(rest);
}

function blobOf(line: string): Uint8Array {
  if (line.trim() === '') return new Uint8Array();
  const answer: unknown = JSON.parse(line);
  const failure = text(member(member(answer, 'error'), 'message'));
  if (failure !== undefined) throw new Error(failure);
  return Buffer.from(text(member(member(answer, 'result'), 'blob')) ?? '', 'base64');
}

async function verify(host: Host, path: string): Promise<Snapshot> {
  await using file = await host.openFile(path);
  if (file === undefined || file.size <= DIGEST_BYTES) throw new Error('the snapshot is empty');
  const databaseBytes = file.size - DIGEST_BYTES;
  const head = Buffer.from(await file.read(0, MAGIC_AT + 4));
  if (head.length < MAGIC_AT + 4 || head.readUInt32LE(MAGIC_AT) !== MAGIC) throw new Error('it is not a database');
  const hash: Hash = createHash('sha256');
  let left = databaseBytes;
  for await (const piece of file) {
    hash.update(piece.subarray(0, left));
    left = Math.max(0, left - piece.length);
    if (left === 0) break;
  }
  const [found, sent] = [hash.digest('hex'), Buffer.from(await file.read(databaseBytes, DIGEST_BYTES)).toString('hex')];
  if (found !== sent) throw new Error('its SHA-256 is not the one that etcd sent');
  return { path, size: file.size, sha256: found };
}

/** The failure `EtcdSnapshotFailed`; `endpoint` is what was asked. */
export function snapshotFailed(endpoint: string, why: string): MachineadmError {
  return new MachineadmError({
    reason: 'EtcdSnapshotFailed',
    summary: `The snapshot of etcd before the upgrade failed: ${why}.`,
    remedy: 'Check that etcd answers and that the disk has space, then run machineadm upgrade again.',
    evidence: [{ source: 'etcd', text: `${endpoint}: ${why}` }],
    retryable: true,
  });
}
