import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Identity } from './api-server.ts';

/** A message that a client published with headers. */
export interface Published {
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The subject of the answer. */
  readonly reply: string;
}

export interface NatsModel extends AsyncDisposable {
  readonly port: number;
  /** What each client said of itself (CONNECT). */
  readonly clients: readonly Readonly<Record<string, unknown>>[];
  readonly published: readonly Published[];
  /** The names of the certificates that clients presented. */
  readonly certificates: readonly string[];
}

export interface NatsModelWish {
  /** What the stream answers; default: an acknowledgement. `none`: no stream listens; `silence`: it never answers. */
  readonly answer?: object | 'none' | 'silence';
  readonly maxPayload?: number;
  /** The server demands TLS with this certificate. */
  readonly identity?: Identity;
  /** What it challenges clients with keys to sign. */
  readonly nonce?: string;
}

/** A NATS server with one stream, as far as a publisher sees it (docs.nats.io, "Client Protocol"; ADR-15). */
export async function startNatsModel(wish: NatsModelWish = {}): Promise<NatsModel> {
  const { answer = { stream: 'S', seq: 1 }, maxPayload = 1024 * 1024, identity, nonce } = wish;
  const clients: Record<string, unknown>[] = [];
  const published: Published[] = [];
  const certificates: string[] = [];
  const sockets = new Set<Socket>();

  const converse = (socket: Socket): void => {
    let pending = Buffer.alloc(0);
    const subscriptions: { readonly subject: string; readonly id: string }[] = [];
    const send = (reply: string): void => {
      const id = subscriptions.find(({ subject }) => matches(subject, reply))?.id;
      if (id === undefined || answer === 'silence') return;
      const status = 'NATS/1.0 503\r\n\r\n';
      if (answer === 'none') socket.write(`HMSG ${reply} ${id} ${status.length} ${status.length}\r\n${status}\r\n`);
      else {
        const body = JSON.stringify(answer);
        socket.write(`MSG ${reply} ${id} ${Buffer.byteLength(body)}\r\n${body}\r\n`);
      }
    };
    socket.on('data', (data: Buffer) => {
      pending = Buffer.concat([pending, data]);
      for (let end = pending.indexOf('\r\n'); end >= 0; end = pending.indexOf('\r\n')) {
        const line = pending.subarray(0, end).toString();
        const [verb, ...words] = line.split(' ');
        if (verb === 'HPUB') {
          const [subject = '', reply = '', head, total] = words;
          const [from, until] = [end + 2, end + 2 + Number(total)];
          if (pending.length < until + 2) return;
          const headers = pending.subarray(from, from + Number(head)).toString();
          const body = pending.subarray(from + Number(head), until).toString();
          published.push({ subject, reply, headers: headersOf(headers), body });
          pending = pending.subarray(until + 2);
          send(reply);
          continue;
        }
        pending = pending.subarray(end + 2);
        if (verb === 'CONNECT') clients.push(JSON.parse(line.slice('CONNECT '.length)));
        if (verb === 'PING') socket.write('PONG\r\n');
        if (verb === 'SUB') subscriptions.push({ subject: words[0] ?? '', id: words.at(-1) ?? '' });
      }
    });
    socket.on('error', () => {});
  };

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    const info = { server_id: 'S', version: '2.10.0', proto: 1, headers: true, max_payload: maxPayload, nonce };
    socket.write(`INFO ${JSON.stringify({ ...info, ...(identity === undefined ? {} : { tls_required: true }) })}\r\n`);
    if (identity === undefined) return converse(socket);
    const { certificate: cert, key } = identity;
    const secured = new TLSSocket(socket, { isServer: true, cert, key, requestCert: true, rejectUnauthorized: false });
    secured.once('secure', () => {
      const name = secured.getPeerCertificate().subject?.CN;
      if (typeof name === 'string') certificates.push(name);
    });
    converse(secured);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    clients,
    published,
    certificates,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

function matches(pattern: string, subject: string): boolean {
  return pattern.endsWith('.*') ? subject.startsWith(pattern.slice(0, -1)) : pattern === subject;
}

function headersOf(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\r\n').slice(1);
  return Object.fromEntries(lines.flatMap((line) => (line === '' ? [] : [line.split(/: */, 2) as [string, string]])));
}
