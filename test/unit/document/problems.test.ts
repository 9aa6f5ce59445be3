import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import { load, problemsOf } from '../../support/document.ts';

describe('a problem of a document', () => {
  for (const [what, text, expected] of [
    [
      'an object of Cluster API',
      'apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: KubeadmConfig\nspec: {}\n',
      'doc.yaml:2:7  kind: a KubeadmConfig is not a bootstrap document, whose kind is MachineBootstrap',
    ],
    [
      'cloud-config',
      '#cloud-config\nwrite_files: []\nruncmd: [a]\n',
      'doc.yaml:2:1  write_files: cloud-config user data is not a bootstrap document',
    ],
    [
      'Ignition',
      '{"ignition": {"version": "3.4.0"}}',
      'doc.yaml:1:2  ignition: an Ignition configuration is not a bootstrap document',
    ],
  ] as const) {
    test(`says once that ${what} is for convert`, async () => {
      const result = await load(text);
      const told = result.ok ? [] : result.problems.map(formatDiagnostic);
      assert.deepEqual(told, [`${expected} (hint: \`machineadm convert -f FILE\` makes a bootstrap document of it)`]);
    });
  }

  test('names the eight sources of a secret that is empty', async () => {
    for (const body of ['secrets: {a: {value: ""}}\n', 'host: {proxy: {http: ""}}\n']) {
      const [told = '', ...others] = await problemsOf(body);
      assert.deepEqual(others, []);
      for (const source of [
        'value',
        'file',
        'env',
        'systemdCredential',
        'exec',
        'http',
        'awsSecretsManager',
        'awsParameter',
      ]) {
        assert.ok(told.includes(source), told);
      }
    }
  });

  test('says where a text is no longer UTF-8, and how far compressed data can be read', async () => {
    const read = (bytes: Uint8Array) => loadDocument([{ name: 'd', bytes }], { agentVersion: '0.1.0' });
    const broken = Buffer.concat([Buffer.from('a: é\nb: '), Buffer.from([0xff]), Buffer.from(' c\n')]);
    await assert.rejects(read(broken), {
      reason: 'DocumentInvalid',
      message: /not UTF-8 text: byte 10 \(line 2, column 4\)$/,
    });
    const cut = gzipSync(Buffer.from('a: 1\n')).subarray(0, 15);
    await assert.rejects(read(cut), {
      reason: 'DocumentInvalid',
      message: /damaged or truncated: 15 bytes, readable up to byte \d+ of/,
    });
  });

  test('offers the five nearest of many choices, and no word of the value', async () => {
    const [told = ''] = await problemsOf('hardening: {include: [], profiles: [Xc4n4ry]}\n');
    assert.ok(!told.includes('Xc4n4ry'), told);
    const keys = await problemsOf('host: {Xc4n4ry: 1}\n');
    assert.match(
      keys[0] ?? '',
      /^doc\.yaml:4:8 {2}host: unknown key \(hint: known here: (?:\w+, ){4}\w+ and \d+ more\)$/,
    );
  });

  test('is one of at most two hundred, and says how many more there are', async () => {
    const problems = await problemsOf(`host:\n  kernelModules:\n${'  - "!"\n'.repeat(5_000)}`);
    assert.equal(problems.length, 201);
    assert.match(problems.at(-1) ?? '', /\d+ more problems from here on/);
  });
});

describe('a map of which one field must be given', () => {
  test('names all of them where there is none', async () => {
    assert.deepEqual(await problemsOf('secrets: {a: {}}\n'), [
      'doc.yaml:4:14  secrets.a: none of value, file, env, systemdCredential, exec, http, awsSecretsManager and awsParameter is given (hint: give one of them)',
    ]);
    assert.match(
      (await problemsOf('host: {files: [{path: /etc/x, contentFrom: {}}]}\n')).join(),
      /none of secret, file and http is given/,
    );
  });

  test('names the one that was meant where it is mistyped', async () => {
    assert.deepEqual(await problemsOf('secrets: {a: {fille: /x}}\n'), [
      'doc.yaml:4:15  secrets.a.fille: unknown key (hint: did you mean "file"?)',
    ]);
  });
});
