import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { convert } from '@machineadm/convert/index.ts';
import { parse } from 'yaml';

const HEAD = `apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfig
metadata: {name: node-a, namespace: site}
`;
const JOIN = `  joinConfiguration: {discovery: {bootstrapToken: {token: abcdef.0123456789abcdef, apiServerEndpoint: "api.example:6443", unsafeSkipCAVerification: true}}}
`;
const PLAIN = `${HEAD}spec:\n${JOIN}`;

async function converted(text: string) {
  const { documents, decisions } = await convert([{ name: 'input', text }], { kubernetesVersion: 'v1.34.2' });
  return { documents: documents.map(({ yaml }) => parse(yaml)), decisions };
}

describe('objects of Kubernetes are read as kubectl reads them', () => {
  const same: readonly (readonly [string, string])[] = [
    ['a document marker at the end', `${PLAIN}---\n`],
    ['documents of comments', `---\n# Source: a.yaml\n${PLAIN}---\n# Source: b.yaml\n`],
    ['a null document', `${PLAIN}---\nnull\n---\n~\n`],
    ['an end marker', `${PLAIN}...\n`],
    ['line ends of Windows', PLAIN.replaceAll('\n', '\r\n')],
    ['a byte order mark', `\uFEFF${PLAIN}`],
    ['JSON', JSON.stringify(parse(PLAIN))],
    ['a List', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [parse(PLAIN)] })],
    [
      'a list of the API server',
      JSON.stringify({
        apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2',
        kind: 'KubeadmConfigList',
        metadata: {},
        items: [{ metadata: parse(PLAIN).metadata, spec: parse(PLAIN).spec }],
      }),
    ],
  ];
  for (const [what, text] of same) {
    test(what, async () => {
      const { documents } = await converted(text);
      assert.deepEqual(documents, (await converted(PLAIN)).documents);
      assert.equal(documents.length, 1);
    });
  }

  test('yes, merge keys, octal numbers and base 60 as in YAML 1.1 of Go', async () => {
    const { documents } = await converted(
      `${HEAD}spec:\n  ntp: {enabled: yes, servers: [ntp.example]}\n  files:\n  - &base {path: /etc/a, content: shared, permissions: "0640", owner: "root:adm"}\n  - {<<: *base, path: /etc/b}\n  verbosity: 0_2\n  postKubeadmCommands: [12:30:00]\n${JOIN}`,
    );
    const [{ host, kubernetes }] = documents;
    assert.equal(host.time.enabled, true);
    assert.deepEqual(host.files[1], { ...host.files[0], path: '/etc/b' });
    assert.equal(kubernetes.bootstrapper.kubeadm.verbosity, 2);
    assert.deepEqual(host.hooks.afterBootstrap.commands, ['12:30:00']);
  });

  const SOPS = `---
apiVersion: v1
kind: Secret
metadata: {name: cloud, namespace: site}
data: {password: "ENC[AES256_GCM,data:aaaa,iv:bbbb,tag:cccc]", empty: }
sops: {version: 3.9.0}
`;
  test('a Secret that nothing names is ignored, whatever is in it', async () => {
    const { documents, decisions } = await converted(`${PLAIN}${SOPS}`);
    assert.equal(documents.length, 1);
    assert.deepEqual(
      decisions.filter(({ at }) => at.startsWith('Secret')).map(({ code }) => code),
      ['ObjectIgnored'],
    );
  });

  test('one that is named and not base64 is an error that names the key', async () => {
    const file = '  files: [{path: /etc/x, contentFrom: {secret: {name: cloud, key: password}}}]\n';
    const text = `${PLAIN}${file}${SOPS}`;
    const { documents, decisions } = await convert([{ name: 'input', text }], {
      kubernetesVersion: 'v1.34.2',
      inlineSecrets: true,
    });
    assert.deepEqual(documents, []);
    assert.deepEqual(
      decisions.filter(({ severity }) => severity === 'error').map(({ at, message }) => `${at}: ${message}`),
      ['Secret site/cloud: data.password: not base64: decrypt it before, or correct it'],
    );
  });

  for (const [what, metadata] of [
    ['a path', '{name: ../../x, namespace: site}'],
    ['a namespace that is a path', '{name: x, namespace: ../site}'],
    ['upper case', '{name: Node, namespace: site}'],
  ]) {
    test(`${what} as a name is refused`, async () => {
      const { documents, decisions } = await converted(
        PLAIN.replace('{name: node-a, namespace: site}', metadata ?? ''),
      );
      assert.deepEqual(documents, []);
      assert.match(JSON.stringify(decisions), /is not a name of Kubernetes/);
    });
  }

  test('placeholders of a template are a decision; those of the shell are none', async () => {
    const { decisions } = await converted(
      PLAIN.replace('node-a', "'${CLUSTER}-md'").replace('spec:\n', 'spec:\n  preKubeadmCommands: ["echo ${HOME}"]\n'),
    );
    const found = decisions.filter(({ code }) => code === 'TemplateUnrendered');
    assert.deepEqual(
      found.map(({ message }) => message),
      ['${CLUSTER}: render the template first'],
    );
  });
});

test('a key of many levels, which the library would print for each level, is refused', async () => {
  const { documents, decisions } = await converted(`${PLAIN}${'? '.repeat(400)}x\n`);
  assert.deepEqual(documents, []);
  const [decision] = decisions;
  assert.deepEqual(
    [decision?.code, /YAML with a key that is not a text/.test(decision?.message ?? '')],
    ['InputInvalid', true],
  );
});
