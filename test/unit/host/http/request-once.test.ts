import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { createHttpClient } from '../../../../src/host/http/client.ts';
import { HttpError } from '../../../../src/host/http/error.ts';
import { askHealthEndpoint, requestOnce } from '../../../../src/host/http/request-once.ts';

/** A server that accepts connections and leaves the rest to `serve`. */
async function listen(serve: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    serve(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await once(server.close(), 'close');
    },
  };
}

const signal = () => AbortSignal.timeout(60_000);

describe('a request', () => {
  test('that is aborted ends although its connection is still being made, and so does the connection', async () => {
    const run = new AbortController();
    const accepted = Promise.withResolvers<Socket>();
    await using silent = await listen((socket) => {
      accepted.resolve(socket);
      run.abort(new Error('the run ended'));
    });
    const url = new URL(`https://127.0.0.1:${silent.port}/`);
    await assert.rejects(requestOnce(url, { rejectUnauthorized: false, signal: run.signal }), /the run ended/);
    const socket = (await accepted.promise).resume();
    if (!socket.closed) await once(socket, 'close');
  });

  test('of the client is aborted the same way, before a connection could time out', async () => {
    const run = new AbortController();
    await using silent = await listen(() => run.abort());
    const connectTimeoutMs = 2 ** 31 - 1;
    const client = createHttpClient({ proxy: undefined, certificateAuthorities: [], connectTimeoutMs });
    const asked = client.request({ url: `https://127.0.0.1:${silent.port}/`, signal: run.signal });
    await assert.rejects(asked, (error) => error instanceof HttpError && error.kind === 'aborted');
    for (const socket of silent.sockets) socket.destroy();
    await client.close();
  });

  test('whose connection is closed without an answer has the code of the kernel', async () => {
    await using server = await listen((socket) => socket.once('data', () => socket.end()));
    const url = new URL(`http://127.0.0.1:${server.port}/`);
    await assert.rejects(requestOnce(url, { signal: signal() }), { code: 'ECONNRESET' });
  });

  test('returns the part of an answer that is cut off only where that is enough', async () => {
    const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf';
    await using server = await listen((socket) => socket.once('data', () => socket.end(answer)));
    const url = new URL(`http://127.0.0.1:${server.port}/`);
    await assert.rejects(requestOnce(url, { signal: signal() }), { code: 'ECONNRESET' });
    const { status, body } = await requestOnce(url, { partial: true, signal: signal() });
    assert.deepEqual([status, body], [200, 'half']);
    const health = await askHealthEndpoint(String(url));
    assert.match('why' in health ? health.why : '', /closed the connection before its answer was complete/);
  });

  test('is sent on a connection of its own, which ends with the answer', async () => {
    const asked: string[] = [];
    await using server = await listen((socket) =>
      socket.once('data', (bytes: Buffer) => {
        asked.push(bytes.toString());
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
      }),
    );
    for (const path of ['/a', '/b?c=d']) {
      const { body } = await requestOnce(new URL(path, `http://127.0.0.1:${server.port}`), { signal: signal() });
      assert.equal(body, 'ok');
    }
    assert.equal(server.sockets.size, 2);
    assert.match(asked[1] ?? '', /^GET \/b\?c=d HTTP\/1\.1\r\n[\s\S]*connection: close/i);
  });
});
