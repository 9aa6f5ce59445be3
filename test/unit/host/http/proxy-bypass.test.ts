import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { reachedDirectly } from '../../../../src/host/http/proxy-bypass.ts';

const direct = (url: string, ...no: string[]) => reachedDirectly(new URL(url), no);

describe('the proxy is bypassed for', () => {
  for (const url of [
    'http://localhost:8080/',
    'http://127.0.0.1/',
    'http://127.9.9.9/',
    'http://[::1]:6443/',
    'http://169.254.169.254/latest/',
    'http://metadata.google.internal/',
    'http://[fd00:ec2::254]/',
    'http://[fe80::1]/',
  ]) {
    test(`${url}, always`, () => assert.equal(direct(url), true));
  }

  for (const [entry, inside, outside] of [
    ['10.0.0.0/8', 'https://10.1.2.3/', 'https://11.1.2.3/'],
    ['fd12::/16', 'https://[fd12::7]/', 'https://[fd13::7]/'],
    ['10.1.2.3', 'https://10.1.2.3:6443/', 'https://10.1.2.4/'],
    ['fd12::7', 'https://[fd12:0::7]/', 'https://[fd12::8]/'],
    ['example.com', 'https://example.com/', 'https://notexample.com/'],
    ['example.com', 'https://api.Example.com/', 'https://example.com.evil.org/'],
    ['.example.com', 'https://api.example.com/', 'https://example.com/'],
    ['*.example.com', 'https://api.example.com/', 'https://example.com/'],
    ['example.com:8443', 'https://example.com:8443/', 'https://example.com/'],
    ['example.com:443', 'https://example.com/', 'http://example.com/'],
    ['[fd12::7]:6443', 'https://[fd12::7]:6443/', 'https://[fd12::7]/'],
  ] as const) {
    test(`${inside} and not for ${outside} with the entry ${entry}`, () => {
      assert.equal(direct(inside, entry), true);
      assert.equal(direct(outside, entry), false);
    });
  }

  test('everything with "*", and nothing more with an invalid entry', () => {
    assert.equal(direct('https://example.com/', '*'), true);
    for (const entry of ['', ' ', '10.0.0.0/33', '10.0.0.0/x', 'nonsense/8']) {
      assert.equal(direct('https://10.0.0.1/', entry), false, entry);
    }
  });

  test('no name that would have to be resolved for a subnet', () => {
    assert.equal(direct('https://api.example.com/', '0.0.0.0/0'), false);
  });
});
