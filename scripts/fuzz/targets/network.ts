import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { MetadataService } from '../../../src/host/cloud/metadata-service.ts';
import { parseKubeconfig } from '../../../src/host/cluster/kubeconfig.ts';
import { connectCri, pullImage, removePods } from '../../../src/host/cri/client.ts';
import { messageField, stringField, varintField } from '../../../src/host/cri/protobuf.ts';
import { probePod } from '../../../src/host/cri/workloads.ts';
import { createHttpClient, readBody } from '../../../src/host/http/client.ts';
import { json } from '../mutators/json.ts';
import { protobuf } from '../mutators/protobuf.ts';
import { yaml } from '../mutators/yaml.ts';
import { CANARIES, type FuzzTarget, type Mutation } from '../target.ts';

const [SECRET, TOKEN, KEY] = CANARIES;
const bytes = (text: string) => Buffer.from(text, 'latin1');
const latin1 = (...parts: readonly Uint8Array[]) => Buffer.concat(parts).toString('latin1');

/** Starts a server that runs until the process exits, and does not keep it alive. */
async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** A value that is created at its first use. */
function lazily<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** The result, or the text of a MachineadmError. Other errors are rethrown. */
async function said(work: Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await work, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value)) ?? '';
  } catch (error) {
    if (error instanceof MachineadmError) return `${error.reason} ${error.message} ${error.remedy}`;
    throw error;
  }
}

/** The response of the stand-in for a runtime: one length-prefixed gRPC message, or raw bytes. */
let reply = { message: Buffer.alloc(0), framed: true, trailers: {} as Record<string, string> };

const runtime = lazily(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-fuzz-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  const server = createHttp2Server();
  server.on('session', (session) => session.on('error', () => {}));
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => {});
    stream.resume();
    stream.on('end', () => {
      const head = Buffer.alloc(5);
      head.writeUInt32BE(reply.message.length, 1);
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers(reply.trailers));
      stream.end(reply.framed ? Buffer.concat([head, reply.message]) : reply.message);
    });
  });
  const path = join(directory, 'runtime.sock');
  server.listen(path).unref();
  await once(server, 'listening');
  return path;
});

const CALLS: readonly ((socket: string) => Promise<unknown>)[] = [
  (socket) => connectCri(socket, 2000).version(),
  (socket) => connectCri(socket, 2000).status(),
  (socket) => connectCri(socket, 2000).cgroupDriver(),
  (socket) => connectCri(socket, 2000).configuration(),
  (socket) => connectCri(socket, 2000).images(),
  (socket) => connectCri(socket, 2000).exitedContainers(),
  (socket) => pullImage(socket, 'a', new AbortController().signal, 2000),
  (socket) => removePods(socket, new AbortController().signal, 2000),
  (socket) => connectCri(socket, 2000).workloads(),
  (socket) => probePod(socket, '', new AbortController().signal, 2000),
];

const text = (field: number, value: string) => stringField(field, value);
const entry = (key: string, value: string) => messageField(8, Buffer.concat([text(1, key), text(2, value)]));
const CONTAINER = Buffer.concat([
  text(1, 'c1'),
  messageField(3, Buffer.concat([text(1, 'etcd'), varintField(2, 3)])),
  entry('io.kubernetes.pod.name', 'etcd-a'),
  varintField(7, 1_700_000_000),
]);
const CONFIG = JSON.stringify({
  containerd: { defaultRuntimeName: 'runc', runtimes: { runc: { options: { SystemdCgroup: true } } } },
  sandboxImage: 'pause:3.10',
  registry: { configs: { r: { auth: { password: KEY } } } },
});
const called = (call: number, ...parts: readonly Uint8Array[]) => String.fromCharCode(call) + latin1(...parts);

/** Changes the message. The first byte selects the call. */
const afterFirst: Mutation = (random, input) => {
  const changed = protobuf(random, input.slice(1));
  return changed === undefined ? undefined : input.slice(0, 1) + changed;
};

export const criReplies: FuzzTarget = {
  name: 'cri-replies',
  reads: 'Replies of a container runtime (protobuf in gRPC)',
  seeds: [
    called(0, text(2, 'containerd'), text(3, '2.0.0')),
    called(
      1,
      messageField(1, messageField(1, Buffer.concat([text(1, 'RuntimeReady'), varintField(2, 1), text(4, 'm')]))),
    ),
    called(2, messageField(1, varintField(1, 1))),
    called(3, messageField(2, Buffer.concat([text(1, 'config'), text(2, CONFIG)]))),
    called(4, messageField(1, Buffer.concat([text(1, 'sha256:a'), text(2, 'a:1'), text(3, 'a@sha256:b')]))),
    called(5, messageField(1, CONTAINER)),
    called(6, text(1, 'sha256:a')),
    called(7, messageField(1, text(1, 'pod'))),
    called(8, messageField(1, text(1, 'pod'))),
    called(9, text(1, 'pod')),
  ],
  tokens: ['\x0a', '\x12\x03abc', '\xff\xff\xff\xff\x0f', '\x08\x01', '\x0b', '\x0c', '\x80', '\x00'],
  isBinary: true,
  grammar: [afterFirst],
  run: async (input) => {
    const choice = input.charCodeAt(0) || 0;
    const framed = choice < 128;
    reply = { message: bytes(input.slice(1)), framed, trailers: { 'grpc-status': choice % 64 === 63 ? '5' : '0' } };
    const call = CALLS[choice % CALLS.length] ?? CALLS[0];
    return call === undefined ? '' : await said(call(await runtime()));
  },
};

/** The response to every request; after it the server closes the connection. */
let written = Buffer.alloc(0);

function writing(): Server {
  const server = createServer((socket: Socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(written));
  });
  return server;
}

const rawRuntime = lazily(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-fuzz-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'raw.sock');
  const server = writing();
  server.listen(path).unref();
  await once(server, 'listening');
  return path;
});

/** An HTTP/2 frame (RFC 9113, 4.1). */
function frame(type: number, flags: number, stream: number, payload: string): string {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return head.toString('latin1') + payload;
}

/** `:status: 200` from the static table; `grpc-status: 0` as a literal without indexing (RFC 7541, 6). */
const HEADERS = '\x88';
const TRAILERS = `\x00\x0bgrpc-status\x010`;
const ANSWER = latin1(text(2, 'containerd'), text(3, '2.0.0'));
const GRPC = `\x00\x00\x00\x00${String.fromCharCode(ANSWER.length)}${ANSWER}`;

export const http2Frames: FuzzTarget = {
  name: 'http2-frames',
  reads: 'HTTP/2 frames from the socket of a container runtime',
  seeds: [
    frame(4, 0, 0, '') + frame(4, 1, 0, '') + frame(1, 4, 1, HEADERS) + frame(0, 0, 1, GRPC) + frame(1, 5, 1, TRAILERS),
    frame(4, 0, 0, '\x00\x03\x00\x00\x00\x64') + frame(7, 0, 0, '\x00\x00\x00\x00\x00\x00\x00\x01bye'),
    frame(4, 0, 0, '') + frame(3, 0, 1, '\x00\x00\x00\x08'),
  ],
  tokens: [
    frame(6, 0, 0, '12345678'),
    frame(8, 0, 0, '\x00\x00\x00\x01'),
    frame(9, 4, 1, ''),
    frame(0, 1, 1, GRPC),
    frame(1, 5, 1, HEADERS),
    'HTTP/1.1 400 Bad Request\r\n\r\n',
    '\x00',
  ],
  isBinary: true,
  run: async (input) => {
    written = bytes(input);
    return await said(connectCri(await rawRuntime(), 1000).version());
  },
};

const web = lazily(() => listening(writing()));

export const httpAnswers: FuzzTarget = {
  name: 'http-answers',
  reads: 'Responses of HTTP servers and proxies: heads and bodies',
  seeds: [
    'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    `HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/a?${SECRET}\r\nContent-Length: 0\r\n\r\n`,
    'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 120\r\nSet-Cookie: a=b\r\n\r\nbusy',
    'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="a"\r\n\r\n',
    'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer realm="a"\r\n\r\n',
  ],
  tokens: [
    '\r\n',
    '\n',
    ': ',
    'Content-Length: 5\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Location: ',
    '//',
    'ffffffff\r\n',
    '\x00',
    'HTTP/1.0 200\r\n',
    ' ',
  ],
  isBinary: true,
  run: async (input) => {
    written = bytes(input);
    const url = `http://127.0.0.1:${await web()}/a?token=${TOKEN}`;
    const viaProxy = input.length % 4 === 0;
    const proxy = viaProxy
      ? { http: `http://u:${SECRET}@127.0.0.1:${await web()}`, https: undefined, no: [] }
      : undefined;
    const client = createHttpClient({ proxy, certificateAuthorities: [], connectTimeoutMs: 1000 });
    try {
      const ask = async () => {
        const answer = await client.request({
          url: viaProxy ? `http://a.invalid/a?token=${TOKEN}` : url,
          headers: { authorization: `Bearer ${KEY}` },
          silenceMs: 1000,
          totalMs: 2000,
        });
        const body = await readBody(answer, 1024 * 1024, 'the answer');
        return `${answer.status} ${answer.headers.size} ${body.length}`;
      };
      return await said(ask());
    } finally {
      await client.close();
    }
  },
};

const METADATA = {
  compute: { vmId: 'a', tagsList: [{ name: 'n', value: 'v' }], osProfile: { computerName: 'n' } },
  network: { interface: [{ ipv4: { ipAddress: [{ privateIpAddress: '10.0.0.4' }] } }] },
  uuid: 'u',
  meta: { role: 'worker' },
  access_token: SECRET,
};

export const metadata: FuzzTarget = {
  name: 'metadata',
  reads: 'Responses of the metadata services of clouds',
  seeds: [JSON.stringify(METADATA), 'i-0123456789abcdef0', 'ami-id\nhostname\nplacement/\n'],
  tokens: ['{', '}', '[', ']', '"', ':', ',', '\n', '/', '\\ud800', '<html>', '\x00', 'null'],
  grammar: [json],
  run: async (input) => {
    const body = Buffer.from(input);
    const status = input.length % 16 === 0 ? '404 Not Found' : '200 OK';
    written = Buffer.concat([
      Buffer.from(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`),
      body,
    ]);
    const service = new MetadataService({ address: `http://127.0.0.1:${await web()}`, totalMs: 1500 });
    const asked = (['aws', 'gcp', 'azure', 'openstack'] as const)[input.length % 4] ?? 'aws';
    // The value is not a message. Only an error is printed.
    const { known } = await service.lookUp(asked, asked === 'azure' ? 'compute/tagsList/0/value' : 'meta/role');
    const token = asked === 'azure' || asked === 'gcp' ? await service.identityToken(asked) : new Secret('');
    return `${known.length} ${String(token)}`;
  },
};

const b64 = (value: string) => Buffer.from(value).toString('base64');

export const kubeconfig: FuzzTarget = {
  name: 'kubeconfig',
  reads: 'kubeconfig files',
  seeds: [
    `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://10.0.0.1:6443", certificate-authority-data: ${b64('ca')}}}]
users: [{name: u, user: {client-certificate-data: ${b64('cert')}, client-key-data: ${b64(SECRET)}, token: "${KEY}"}}]
`,
  ],
  tokens: [
    '"',
    "'",
    ': ',
    '- ',
    '\n',
    '  ',
    '[',
    ']',
    '{',
    '}',
    '&a ',
    '*a',
    '? ',
    '!!binary ',
    'null',
    'file:///',
    'https://[',
  ],
  grammar: [yaml],
  run: async (input) => {
    try {
      const { server } = await parseKubeconfig(input, 'admin.conf', async () => undefined);
      return server.host;
    } catch (error) {
      // A documented error, whose message contains no secret.
      if (error instanceof Error && error.constructor.name === 'KubeconfigUnusable') return error.message;
      throw error;
    }
  },
};
