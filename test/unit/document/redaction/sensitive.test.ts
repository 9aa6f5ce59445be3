import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { secretWords } from '@machineadm/document/redaction/secret-words.ts';
import { sensitiveTexts, withoutSensitiveTexts } from '@machineadm/document/redaction/sensitive.ts';

const DOCUMENT = {
  secrets: { literal: { value: 'ab' }, http: { http: { url: 'https://x', headers: { accept: 'b' } } } },
  host: {
    hostname: 'node',
    hooks: { early: { commands: ['c'], environment: { A: 'd' }, secrets: { F: { secret: 'literal' } } } },
    files: [
      { path: '/a', mode: '0600', content: 'e' },
      { path: '/b', mode: '0640', content: 'shown' },
      { path: '/c', content: 'shown' },
      { path: '/d', mode: '400', content: 'f' },
    ],
    proxy: { for: ['environment'] },
  },
  containerRuntime: {
    containerd: { settings: { plugins: { auth: { password: 'k' }, name: 'shown' } } },
  },
  kubernetes: {
    controlPlane: {
      apiServer: {
        args: [
          { name: 'cloud-token', value: 'l' },
          { name: 'v', value: 'shown' },
        ],
      },
      staticPods: [{ name: 'p', manifest: 'g' }],
    },
    join: { discovery: { token: { token: { secret: 'literal' } } } },
    bootstrapper: { exec: { env: [{ name: 'E', value: 'h' }] } },
  },
  reporting: { sinks: [{ headers: { a: 'i', b: { secret: 'literal' } }, environment: { V: 'j' } }] },
};

describe('the texts in which people write secrets', () => {
  test('are found wherever they are', () => {
    assert.deepEqual(
      sensitiveTexts(DOCUMENT).map(({ path, text }) => `${path} ${text}`),
      [
        'secrets.literal.value ab',
        'secrets.http.http.headers.accept b',
        'host.hooks.early.commands[0] c',
        'host.hooks.early.environment.A d',
        'host.files[0].content e',
        'host.files[3].content f',
        'containerRuntime.containerd.settings.plugins.auth.password k',
        'kubernetes.controlPlane.apiServer.args[0].value l',
        'kubernetes.controlPlane.staticPods[0].manifest g',
        'kubernetes.bootstrapper.exec.env[0].value h',
        'reporting.sinks[0].headers.a i',
        'reporting.sinks[0].environment.V j',
      ],
    );
  });

  test('are replaced, and nothing else', () => {
    const shown = JSON.stringify(withoutSensitiveTexts(DOCUMENT, 'X'));
    assert.equal(shown.match(/"X"/g)?.length, 12);
    assert.equal(shown.match(/"shown"/g)?.length, 4);
    assert.ok(shown.includes('"secrets":{"F":{"secret":"literal"}}'));
  });

  test('are secrets as a whole if their name says so', () => {
    const secret = sensitiveTexts(DOCUMENT).filter(({ isSecret }) => isSecret);
    assert.deepEqual(
      secret.map(({ text }) => text),
      ['k', 'l'],
    );
    assert.deepEqual(sensitiveTexts({ a: { password: 'correct horse' }, b: { passwordFile: '/p', tokenTTL: '24h' } }), [
      { path: 'a.password', text: 'correct horse', isSecret: true },
    ]);
  });

  test('register with the redactor what is probably a secret in them', () => {
    const text = `curl -H 'X-Any: a1b2c3d4e5f6' -u admin:s3cr3t-w0rd-x https://u:p4ss@h.example/ubuntu2204/kube-1-2 --token=plainword\n`;
    const words = secretWords(text);
    for (const secret of ['a1b2c3d4e5f6', 's3cr3t-w0rd-x', 'u:p4ss', 'plainword'])
      assert.ok(words.includes(secret), secret);
    for (const word of ['ubuntu2204', 'kube-1-2', 'curl', 'admin']) assert.ok(!words.includes(word), word);
  });
});

test('options and parts of paths that consist of words are no secrets, whatever may be beside them', () => {
  assert.deepEqual(secretWords('/etc/kubernetes/admission-plugin-exclusion-rules.json'), []);
  assert.deepEqual(secretWords('kubeadm join --discovery-token-ca-cert-hash x'), []);
  // Words without a place that says what they are, and words with digits.
  assert.deepEqual(secretWords('admission-plugin-exclusion-rules'), ['admission-plugin-exclusion-rules']);
  assert.deepEqual(secretWords('/etc/x/a1b2c3d4e5f6a7'), ['a1b2c3d4e5f6a7']);
  assert.deepEqual(secretWords('https://h/correct-horse-battery-staple'), ['correct-horse-battery-staple']);
});
