import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { holdsCredentials, proxyUrlProblem } from '@machineadm/document/host-parts/proxy-url.ts';
import { loaded, problemsOf } from '../../support/document.ts';

describe('the URL of a proxy', () => {
  for (const url of [
    'http://proxy.example:3128',
    'https://proxy.example',
    'http://10.0.0.1:8080/',
    'http://[fd00::1]:3128',
    'http://user:p%40ss@proxy.example:3128',
  ]) {
    test(`${url} is valid`, () => assert.equal(proxyUrlProblem(url), undefined));
  }

  for (const [url, problem] of [
    ['proxy.example:3128', /form http/],
    ['socks5://proxy.example:1080', /scheme/],
    ['HTTP://proxy.example', /scheme/],
    ['http://', /host or port/],
    ['http://:3128', /host or port/],
    ['http://proxy.example:99999', /host or port/],
    ['http://proxy.example:3128/path', /nothing may follow/],
    ['http://proxy.example:3128?x', /nothing may follow/],
    ['http://us er@proxy.example', /percent-encoded/],
    ['http://proxy.example\nLD_PRELOAD=/tmp/x', /percent-encoded/],
    ['http://user:p"ss@proxy.example', /percent-encoded/],
    ['http://user:p@ss@proxy.example', /form http/],
  ] as const) {
    test(`${JSON.stringify(url)} is invalid`, () => assert.match(proxyUrlProblem(url) ?? '', problem));
  }

  test('is known to contain credentials or not', () => {
    assert.equal(holdsCredentials('http://user:pw@proxy.example'), true);
    assert.equal(holdsCredentials('http://user@proxy.example'), true);
    assert.equal(holdsCredentials('http://proxy.example:3128'), false);
  });
});

describe('host.proxy', () => {
  test('without any field is a mistake', async () => {
    assert.match((await problemsOf('host: {proxy: {no: [example.com]}}')).join('\n'), /no proxy is given/);
  });

  test('is validated without being shown, also where it is a named secret', async () => {
    for (const body of [
      'host: {proxy: {http: "ftp://kR4y:h1dden@proxy"}}',
      'secrets: {p: {value: "ftp://kR4y:h1dden@proxy"}}\nhost: {proxy: {http: {secret: p}}}',
    ]) {
      const problems = (await problemsOf(body)).join('\n');
      assert.match(problems, /host\.proxy\.http/);
      assert.match(problems, /scheme/);
      assert.doesNotMatch(problems, /h1dden/);
    }
  });

  test('with credentials is not written where every user may read it', async () => {
    const body = 'host: {proxy: {http: "http://kR4y:h1dden@proxy", for: [containerd, environment]}}';
    assert.match((await problemsOf(body)).join('\n'), /\/etc\/environment, which every user can read/);
    assert.deepEqual(await problemsOf(body.replace(', environment', '')), []);
    assert.deepEqual(await problemsOf(body.replace('kR4y:h1dden@', '')), []);
  });

  test('whose value is resolved later is not checked', async () => {
    const { model } = await loaded('secrets: {p: {env: PROXY}}\nhost: {proxy: {http: {secret: p}}}');
    assert.deepEqual(model.host.proxy?.for, ['agent', 'containerd', 'kubelet']);
  });
});
