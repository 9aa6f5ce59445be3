import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { agentProxy, createHttpClient, type HttpClientOptions, readBody } from '../../../../src/host/http/client.ts';
import { HttpError } from '../../../../src/host/http/error.ts';
import { newAuthority } from '../../../support/api-server.ts';
import { startProxy, startServer } from '../../../support/http-servers.ts';

const authority = newAuthority('test authority');

async function get(url: string, options: Partial<HttpClientOptions> = {}, headers: Record<string, string> = {}) {
  const client = createHttpClient({ proxy: undefined, certificateAuthorities: [], ...options });
  try {
    const answer = await client.request({ url, headers, silenceMs: 5_000 });
    return { status: answer.status, text: new TextDecoder().decode(await readBody(answer, 1000, url)) };
  } finally {
    await client.close();
  }
}

function fails(kind: HttpError['kind'], message: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof HttpError, String(error));
    assert.equal(error.kind, kind);
    assert.match(error.message, message);
    return true;
  };
}

describe('the HTTP client', () => {
  test('gives whatever the server answers, errors included', async () => {
    await using server = await startServer((request) => ({ status: request.url === '/no' ? 404 : 200, body: 'said' }));
    assert.deepEqual(await get(`${server.url}/yes`), { status: 200, text: 'said' });
    assert.deepEqual(await get(`${server.url}/no`), { status: 404, text: 'said' });
  });

  test("trusts the document's certificate authorities, and no others", async () => {
    await using server = await startServer(() => ({ body: 'said' }), authority.issue('server', ['127.0.0.1']));
    const trusted = await get(server.url, { certificateAuthorities: [authority.certificate] });
    assert.equal(trusted.text, 'said');
    await assert.rejects(get(server.url), fails('tls', /certificate is not accepted/));
    const other = newAuthority('another').certificate;
    await assert.rejects(get(server.url, { certificateAuthorities: [other] }), fails('tls', /not accepted/));
  });

  test('takes no proxy and no trust from the environment', async () => {
    await using server = await startServer(() => ({ body: 'said' }));
    const before = { ...process.env };
    Object.assign(process.env, { HTTP_PROXY: 'http://127.0.0.1:1', http_proxy: 'http://127.0.0.1:1', NO_PROXY: '' });
    try {
      assert.equal((await get(server.url)).text, 'said');
    } finally {
      process.env = before;
    }
  });

  test('connects through the proxy with its credentials, and to the exceptions directly', async () => {
    await using server = await startServer(() => ({ body: 'said' }));
    await using proxy = await startProxy(() => server.port);
    const http = `http://user:p%40ss@127.0.0.1:${proxy.port}`;
    const options = { proxy: { http, https: http, no: ['*.direct.example'] } };
    assert.equal((await get('http://files.example/a', options)).text, 'said');
    assert.deepEqual(proxy.requests, ['GET http://files.example/a user:p@ss']);
    await assert.rejects(get('http://x.direct.example:9/', options), fails('name', /cannot be resolved/));
    assert.equal((await get(server.url, options)).text, 'said');
    assert.equal(proxy.requests.length, 1);
  });

  test('speaks TLS through the proxy with the server itself', async () => {
    await using server = await startServer(() => ({ body: 'said' }), authority.issue('files.example'));
    await using proxy = await startProxy(() => server.port);
    const options = {
      proxy: { http: undefined, https: proxy.url, no: [] },
      certificateAuthorities: [authority.certificate],
    };
    assert.equal((await get('https://files.example/a', options)).text, 'said');
    assert.deepEqual(proxy.requests, ['CONNECT files.example:443']);
    const untrusting = { ...options, certificateAuthorities: [] };
    await assert.rejects(get('https://files.example/a', untrusting), fails('tls', /not accepted/));
  });

  test('names a dead proxy as the cause, without its credentials', async () => {
    const proxy = { http: 'http://user:hidden-word@127.0.0.1:1', https: undefined, no: [] };
    await assert.rejects(get('http://files.example/a', { proxy }), (error: unknown) => {
      assert.ok(error instanceof HttpError);
      assert.deepEqual([error.reason, error.exit, error.retryable], ['ProxyConnectFailed', 'HostStepFailed', true]);
      assert.match(error.message, /the proxy 127\.0\.0\.1:1/);
      assert.doesNotMatch(JSON.stringify([error.message, error.evidence]), /hidden-word/);
      return true;
    });
  });

  test('distinguishes hosts that cannot be reached or resolved from timeouts', async () => {
    await assert.rejects(get('http://127.0.0.1:1/'), fails('connection', /ECONNREFUSED/));
    await assert.rejects(get('http://nonesuch.invalid/'), fails('name', /cannot be resolved/));
    await using silent = await startServer(() => 'silence');
    const client = createHttpClient({ proxy: undefined, certificateAuthorities: [] });
    await assert.rejects(client.request({ url: silent.url, totalMs: 100 }), fails('timeout', /no answer in time/));
    await client.close();
  });

  test('keeps the query of a URL, which may be a token, out of its messages', async () => {
    await assert.rejects(get('http://127.0.0.1:1/path?token=hidden-word'), (error: unknown) => {
      assert.ok(error instanceof HttpError);
      assert.match(error.message, /GET http:\/\/127\.0\.0\.1:1\/path/);
      assert.doesNotMatch(error.message, /hidden-word/);
      return true;
    });
  });

  test('refuses an answer that is larger than the limit', async () => {
    await using server = await startServer(() => ({ body: 'x'.repeat(1001) }));
    await assert.rejects(get(server.url), fails('protocol', /larger than 1000 bytes/));
  });
});

describe('a redirect', () => {
  test('is followed on the same server with the headers', async () => {
    await using server = await startServer((request) =>
      request.url === '/a'
        ? { status: 302, headers: { location: '/b' } }
        : { body: String(request.headers.authorization) },
    );
    assert.equal((await get(`${server.url}/a`, {}, { authorization: 'token' })).text, 'token');
  });

  test('to another server loses them', async () => {
    await using other = await startServer((request) => ({ body: String(request.headers.authorization) }));
    await using server = await startServer(() => ({ status: 307, headers: { location: `${other.url}/b` } }));
    assert.equal((await get(`${server.url}/a`, {}, { authorization: 'token' })).text, 'undefined');
  });

  test('without an end, to no URL, or from https to http is refused', async () => {
    await using circle = await startServer(() => ({ status: 302, headers: { location: '/a' } }));
    await assert.rejects(get(circle.url), fails('protocol', /more than 5 redirects/));
    assert.equal(circle.requests.length, 6);
    await using file = await startServer(() => ({ status: 302, headers: { location: 'file:///etc/shadow' } }));
    await assert.rejects(get(file.url), fails('protocol', /other than an http or https URL/));
    const identity = authority.issue('server', ['127.0.0.1']);
    await using secure = await startServer(() => ({ status: 302, headers: { location: circle.url } }), identity);
    const options = { certificateAuthorities: [authority.certificate] };
    await assert.rejects(get(secure.url, options), fails('redirect', /from https to http/));
  });
});

describe("the agent's own proxy", () => {
  const source = { kind: 'value', secret: new Secret('http://user:word@proxy.example:3128') } as const;
  const http = { name: 'host.proxy.http', source };
  const resolve = async () => source.secret;

  test('is that of the document, where it is for the agent', async () => {
    const model = { http, https: undefined, no: ['.cluster.local'], for: ['agent'] } as const;
    const expected = { http: 'http://user:word@proxy.example:3128', https: undefined, no: ['.cluster.local'] };
    assert.deepEqual(await agentProxy(model, resolve), expected);
    assert.equal(await agentProxy({ ...model, for: ['containerd'] }, resolve), undefined);
    assert.equal(await agentProxy(undefined, resolve), undefined);
  });
});
