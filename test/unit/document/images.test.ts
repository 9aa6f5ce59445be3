import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loaded, problemsOf } from '../../support/document.ts';

const DIGEST = 'a'.repeat(64);
const archives = (...entries: readonly string[]) => `images: {archives: [${entries.join(', ')}]}\n`;

describe('image archives in a document', () => {
  test('are on the machine, or come from a URL with a digest', async () => {
    const { model } = await loaded(
      `secrets: {token: {value: t0ken}}\n${archives(
        '{path: /opt/a.tar}',
        `{path: /opt/b.tar, sha256: ${DIGEST}}`,
        `{url: "https://files.example/c.tar.zst", sha256: ${DIGEST}, headers: {Authorization: {secret: token}}}`,
      )}`,
    );
    const [a, b, c] = model.images.archives;
    assert.deepEqual(a, { kind: 'file', path: '/opt/a.tar', sha256: undefined });
    assert.deepEqual(b, { kind: 'file', path: '/opt/b.tar', sha256: DIGEST });
    assert.ok(c?.kind === 'http');
    assert.deepEqual(
      [c.url, c.sha256, c.headers.Authorization?.name],
      ['https://files.example/c.tar.zst', DIGEST, 'secrets.token'],
    );
  });

  for (const [entry, problem] of [
    ['{sha256: aa}', /archives\[0\]\.sha256: (?:".+" is )?not a SHA-256 digest/],
    ['{}', /archives\[0\]: neither path nor url is given/],
    [`{path: /a.tar, url: "https://a/b", sha256: ${DIGEST}}`, /archives\[0\]: path and url exclude each other/],
    ['{url: "https://a/b"}', /archives\[0\]: an archive from a url needs its sha256 \(hint: .*sha256sum/],
    [`{url: "ftp://a/b", sha256: ${DIGEST}}`, /not an http or https URL/],
    ['{path: /a.tar, headers: {A: b}}', /archives\[0\]\.headers: headers are sent with the request for url/],
    ['{path: a.tar}', /not an absolute path/],
    [`{url: "https://a/b", sha256: ${DIGEST}, headers: {A: {secret: nope}}}`, /no secret of the name/],
  ] as const) {
    test(`${entry} is refused`, async () => {
      const problems = await problemsOf(archives(entry));
      assert.equal(problems.length, 1, problems.join('\n'));
      assert.match(problems[0] ?? '', problem);
    });
  }

  test('are named at most once', async () => {
    assert.deepEqual(await problemsOf(archives('{path: /a.tar}', '{path: /b.tar}', '{path: /a.tar}')), [
      'doc.yaml:4:53  images.archives[2]: the same archive as images.archives[0] (doc.yaml:4:21) (hint: keep one of them)',
    ]);
  });

  test('from two servers with the same digest are one archive', async () => {
    const from = (host: string) => `{url: "https://${host}/a.tar", sha256: ${DIGEST}}`;
    assert.match(
      (await problemsOf(archives(from('a'), from('b')))).join(),
      /the same archive as images\.archives\[0\]/,
    );
  });

  test('may have a variable in their URL', async () => {
    const url = `{url: "https://\${mirror}/a.tar", sha256: ${DIGEST}}`;
    const { model } = await loaded(`variables: {mirror: {value: files.example}}\n${archives(url)}`);
    assert.equal(
      model.images.archives[0]?.kind === 'http' && model.images.archives[0].url,
      'https://files.example/a.tar',
    );
  });
});

describe('required images in a document', () => {
  test('are references, by tag or digest', async () => {
    const required = (reference: string) => `images: {required: ["${reference}"]}\n`;
    for (const good of ['pause', 'pause:3.10', `r.example:5000/a/b@sha256:${DIGEST}`, `a/b:1@sha256:${DIGEST}`]) {
      assert.deepEqual(await problemsOf(required(good)), [], good);
    }
    for (const bad of ['', 'Pause', 'a:b:c', 'a@sha256:12', 'https://r.example/a']) {
      assert.match((await problemsOf(required(bad))).join(), /not an image reference/, bad);
    }
  });
});
