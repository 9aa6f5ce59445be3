import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { HttpError } from '../../../src/host/http/error.ts';
import type { HttpClient, HttpRequest } from '../../../src/host/seam/http.ts';
import { type Source, sourceAt } from '../../../src/trust/source.ts';

/** A server that answers each request so, and what it was asked. */
function server(answer: { readonly status?: number; readonly body?: readonly string[]; readonly error?: Error } = {}) {
  const requests: HttpRequest[] = [];
  const state = { discarded: 0 };
  const client: HttpClient = {
    async request(request) {
      requests.push(request);
      if (answer.error !== undefined) throw answer.error;
      async function* body(): AsyncGenerator<Uint8Array> {
        for (const piece of answer.body ?? []) yield Buffer.from(piece);
      }
      const discard = async (): Promise<void> => {
        state.discarded += 1;
      };
      return { status: answer.status ?? 200, headers: new Map(), body: body(), discard };
    },
    async close() {},
  };
  return { client, requests, state };
}

async function textOf(source: Source, file: string, limit = 100): Promise<string> {
  let text = '';
  for await (const piece of source.open(file, limit, { ms: 1234 })) text += Buffer.from(piece).toString();
  return text;
}

const CREDENTIAL = new Secret('Authorization: Bearer hunter2\n');

describe('the location of a release', () => {
  for (const [location, credential, why] of [
    ['https://user@m.example.com/x', undefined, 'it holds credentials'],
    ['https://:pass@m.example.com/x', undefined, 'it holds credentials'],
    ['https://m.example.com/x?y', undefined, 'no file can be named behind a query or fragment'],
    ['https://m.example.com/x#y', undefined, 'no file can be named behind a query or fragment'],
    ['http://m.example.com/x', CREDENTIAL, 'its credential would travel unencrypted'],
    ['https://m.example.com/%zz', undefined, 'a percent sign in its path is not followed by two digits of UTF-8'],
    ['/srv/mirror', CREDENTIAL, 'only an https location is given a credential'],
    ['file:///srv/%2f', undefined, 'it is not a path on this machine'],
    ['ftp://m.example.com/x', undefined, 'it is neither http, https, file nor a directory'],
    ['s3:bucket', undefined, 'it is neither http, https, file nor a directory'],
  ] as const) {
    test(`${location} cannot be used: ${why}`, () => {
      assert.throws(
        () => sourceAt(location, server().client, credential),
        (error) => {
          assert.ok(error instanceof MachineadmError);
          assert.equal(error.reason, 'DownloadInvalid');
          assert.ok(error.message.endsWith(`cannot be used: ${why}`), error.message);
          assert.doesNotMatch(error.message, /user|pass/);
          return true;
        },
      );
    });
  }

  for (const [location, name, path, directory] of [
    ['https://m.example.com/a%20b//', 'https://m.example.com/a%20b', '/a b', undefined],
    ['http://m.example.com', 'http://m.example.com', '/', undefined],
    ['/srv/mirror/../x', '/srv/mirror/../x', '/srv/x', '/srv/mirror/../x'],
    ['file:///srv/a%20b', '/srv/a b', '/srv/a b', '/srv/a b'],
    ['c:/mirror', 'c:/mirror', join(process.cwd(), 'c:/mirror'), 'c:/mirror'],
  ] as const) {
    test(`${location} is ${path}`, () => {
      const source = sourceAt(location, server().client, undefined);
      assert.deepEqual([source.name, source.path, source.directory], [name, path, directory]);
    });
  }
});

describe('a file of a release', () => {
  test('comes from the server with the credential of the location, in the time that is left', async () => {
    const { client, requests } = server({ body: ['one', 'two'] });
    assert.equal(await textOf(sourceAt('https://m.example.com/x/', client, CREDENTIAL), 'list'), 'onetwo');
    assert.deepEqual(requests, [
      { url: 'https://m.example.com/x/list', headers: { authorization: 'Bearer hunter2' }, totalMs: 1234 },
    ]);
  });

  test('comes without a credential where there is none', async () => {
    const { client, requests } = server();
    await textOf(sourceAt('http://m.example.com/x', client, undefined), 'list');
    assert.deepEqual(requests[0]?.headers, {});
  });

  test('is not larger than it may be, to the byte', async () => {
    const source = sourceAt('https://m.example.com/x', server({ body: ['one', 'two'] }).client, undefined);
    assert.equal(await textOf(source, 'list', 6), 'onetwo');
    await assert.rejects(textOf(source, 'list', 5), { reason: 'DigestMismatch', message: /\(5 bytes\)$/ });
  });

  for (const [what, answer, reason, message, retryable] of [
    ['that is not there', { status: 404 }, 'ReleaseUnavailable', /: the server answers HTTP 404$/, true],
    [
      'that nobody sends',
      { error: new HttpError('connection', 'GET x', 'nobody answers') },
      'ReleaseUnavailable',
      /is not available: nobody answers$/,
      true,
    ],
    [
      'that is elsewhere, unencrypted',
      { error: new HttpError('redirect', 'GET x', 'it redirects from https to http') },
      'RedirectRefused',
      /is refused: it redirects from https to http$/,
      false,
    ],
  ] as const) {
    test(`${what} is ${reason}`, async () => {
      const { client, state } = server(answer);
      await assert.rejects(textOf(sourceAt('https://m.example.com/x', client, undefined), 'list'), (error) => {
        assert.ok(error instanceof MachineadmError);
        assert.equal(error.reason, reason);
        assert.match(error.message, message);
        assert.equal(error.retryable, retryable);
        return true;
      });
      assert.equal(state.discarded, 'status' in answer ? 1 : 0);
    });
  }

  test('that the client cannot ask for is a defect, and no missing release', async () => {
    const source = sourceAt('https://m.example.com/x', server({ error: new TypeError('defect') }).client, undefined);
    await assert.rejects(textOf(source, 'list'), TypeError);
  });

  test('comes from a directory', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'machineadm-source-'));
    try {
      await writeFile(join(directory, 'list'), 'text');
      for (const location of [directory, pathToFileURL(directory).href]) {
        const source = sourceAt(location, server().client, undefined);
        assert.equal(await textOf(source, 'list'), 'text');
        await assert.rejects(textOf(source, 'list', 3), { reason: 'DigestMismatch' });
        await assert.rejects(textOf(source, 'none'), {
          reason: 'ReleaseUnavailable',
          message: /: there is no such file$/,
          retryable: false,
        });
      }
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
