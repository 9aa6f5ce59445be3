import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { messageField, stringField } from '../../src/host/cri/protobuf.ts';

export interface KmsPlugin extends AsyncDisposable {
  readonly port: number;
  /** How often it encrypted and decrypted. */
  readonly calls: () => { readonly encrypted: number; readonly decrypted: number };
}

const KEY_ID = 'key-of-the-test';

/**
 * A KMS plug-in of protocol v2 (k8s.io/kms/apis/v2/api.proto), as gRPC over plain TCP: the machine under test relays its socket
 * to it. The key lives as long as the process.
 */
export async function startKmsPlugin(address: string): Promise<KmsPlugin> {
  const key = randomBytes(32);
  let encrypted = 0;
  let decrypted = 0;
  const answers: Readonly<Record<string, (request: Uint8Array) => Uint8Array>> = {
    // StatusResponse{version=1, healthz=2, key_id=3}
    Status: () => Buffer.concat([stringField(1, 'v2'), stringField(2, 'ok'), stringField(3, KEY_ID)]),
    // EncryptRequest{plaintext=1}, EncryptResponse{ciphertext=1, key_id=2}
    Encrypt: (request) => {
      encrypted += 1;
      return Buffer.concat([messageField(1, seal(key, bytesOf(request))), stringField(2, KEY_ID)]);
    },
    // DecryptRequest{ciphertext=1}, DecryptResponse{plaintext=1}
    Decrypt: (request) => {
      decrypted += 1;
      return messageField(1, open(key, bytesOf(request)));
    },
  };
  const server = createServer();
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    const method = /^\/v2\.KeyManagementService\/(\w+)$/.exec(headers[':path'] ?? '')?.[1] ?? '';
    void respond(stream, answers[method]);
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    calls: () => ({ encrypted, decrypted }),
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function respond(
  stream: ServerHttp2Stream,
  answer: ((request: Uint8Array) => Uint8Array) | undefined,
): Promise<void> {
  stream.on('error', () => {});
  // A flag for compression and the length, in front of the message (github.com/grpc/grpc doc/PROTOCOL-HTTP2.md).
  const request = (await buffer(stream)).subarray(5);
  const message = answer?.(request);
  const trailers = { 'grpc-status': message === undefined ? '12' : '0' };
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  const length = Buffer.alloc(5);
  length.writeUInt32BE(message?.length ?? 0, 1);
  stream.end(message === undefined ? undefined : Buffer.concat([length, message]));
}

/** The bytes of field 1, with which each request begins: ProtobufMessage gives texts only. */
function bytesOf(request: Uint8Array): Uint8Array {
  if (request[0] !== 0x0a) throw new RangeError('the request does not begin with field 1');
  let at = 1;
  let length = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = request[at++] ?? 0;
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) return request.subarray(at, at + length);
  }
}

function seal(key: Uint8Array, plain: Uint8Array): Uint8Array {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const body = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]);
}

function open(key: Uint8Array, sealed: Uint8Array): Uint8Array {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12));
  decipher.setAuthTag(sealed.subarray(12, 28));
  return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()]);
}
