import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { problemsOf } from '../../support/document.ts';

const DIGEST = '0'.repeat(64);
const HEADERS = 'headers: {authorization: {secret: s}}';

/** Each place from which a credential or a secret goes over the network: its document, and what of it is readable. */
const PLACES: Readonly<Record<string, readonly [(url: string, more: string) => string, string, string]>> = {
  'a secret from a server': [
    (url, more) => `secrets: {x: {http: {url: '${url}'${more}}}}\n`,
    'secrets.x.http.url',
    'the secret',
  ],
  'a secret of AWS from another endpoint': [
    (url, more) => `secrets: {x: {awsSecretsManager: {secretId: a, endpoint: '${url}'${more}}}}\n`,
    'secrets.x.awsSecretsManager.endpoint',
    'the secret',
  ],
  'a parameter of AWS from another endpoint': [
    (url, more) => `secrets: {x: {awsParameter: {name: a, endpoint: '${url}'${more}}}}\n`,
    'secrets.x.awsParameter.endpoint',
    'the secret',
  ],
  'a file with headers': [
    (url, more) =>
      `secrets: {s: {file: /s}}\nhost: {files: [{path: /a, contentFrom: {http: {url: '${url}', sha256: '${DIGEST}', ${HEADERS}${more}}}}]}\n`,
    'host.files[0].contentFrom.http.url',
    'the headers',
  ],
  'an image archive with headers': [
    (url, more) =>
      `secrets: {s: {file: /s}}\nimages: {archives: [{url: '${url}', sha256: '${DIGEST}', ${HEADERS}${more}}]}\n`,
    'images.archives[0].url',
    'the headers',
  ],
  'a webhook with headers': [
    (url, more) =>
      `secrets: {s: {file: /s}}\nreporting: {sinks: [{type: Webhook, url: '${url}', ${HEADERS}${more}}]}\n`,
    'reporting.sinks[0].url',
    'the headers',
  ],
  'traces with headers': [
    (url, more) => `secrets: {s: {file: /s}}\nreporting: {sinks: [{type: OTLP, url: '${url}', ${HEADERS}${more}}]}\n`,
    'reporting.sinks[0].url',
    'the headers',
  ],
};

describe('over plain http', () => {
  for (const [what, [document, path, exposed]] of Object.entries(PLACES)) {
    test(`${what}: refused, and allowed to this machine, over https and where it says so`, async () => {
      const problems = await problemsOf(document('http://x.example/p', ''));
      assert.equal(problems.length, 1, problems.join('\n'));
      assert.ok(
        problems[0]?.endsWith(
          `${path}: ${exposed} would be readable on the way: the URL is plain http (hint: write https://; allowInsecure: true beside it permits this one)`,
        ),
        problems[0],
      );
      for (const url of ['https://x.example/p', 'http://127.0.0.1:8080/p', 'http://localhost/p', 'http://[::1]/p'])
        assert.deepEqual(await problemsOf(document(url, '')), [], url);
      assert.deepEqual(await problemsOf(document('http://x.example/p', ', allowInsecure: true')), []);
      for (const url of ['http://127.0.0.1.x.example/p', 'http://localhost.x.example/p'])
        assert.equal((await problemsOf(document(url, ''))).length, 1, url);
    });
  }

  test('what holds no credential needs nothing; credentials in the URL are credentials', async () => {
    const file = (url: string): string =>
      `host: {files: [{path: /a, contentFrom: {http: {url: '${url}', sha256: '${DIGEST}'}}}]}\n`;
    assert.deepEqual(await problemsOf(file('http://x.example/p')), []);
    assert.match(
      (await problemsOf(file('http://u:p@x.example/p')))[0] ?? '',
      /the credentials of the URL would be readable/,
    );
    assert.deepEqual(await problemsOf("reporting: {sinks: [{type: Webhook, url: 'http://x.example/p'}]}\n"), []);
  });

  test('a token of NATS may be sent where it says so', async () => {
    const sink = (more: string): string =>
      `reporting: {sinks: [{type: NATS, servers: ['nats://x.example'], subject: a.b, credentials: {token: abcdefgh}${more}}]}\n`;
    assert.equal((await problemsOf(sink(''))).length, 1);
    assert.deepEqual(await problemsOf(sink(', allowInsecure: true')), []);
  });
});
