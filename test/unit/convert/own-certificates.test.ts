import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { convert } from '@machineadm/convert/index.ts';
import { EXAMPLE_CERTIFICATE } from '@machineadm/document/fields/certificates.ts';
import { parse, stringify } from 'yaml';
import { goldenUserData } from '../../support/capi.ts';

const GOLDEN: readonly { readonly path: string; readonly content: string }[] = parse(
  goldenUserData('01-controlplane-kube-vip', 'init'),
).write_files;
const pem = (path: string): string => GOLDEN.find((one) => one.path === `/etc/kubernetes/pki/${path}`)?.content ?? '';

const secret = (name: string, certificate: string, key: string): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: `prod-${name}`, namespace: 'clusters' },
  type: 'cluster.x-k8s.io/secret',
  data: { 'tls.crt': btoa(pem(certificate)), 'tls.key': btoa(pem(key)) },
});
const SECRETS = [
  secret('ca', 'ca.crt', 'ca.key'),
  secret('etcd', 'etcd/ca.crt', 'etcd/ca.key'),
  secret('proxy', 'front-proxy-ca.crt', 'front-proxy-ca.key'),
  secret('sa', 'sa.pub', 'sa.key'),
];
const CLUSTER = {
  apiVersion: 'cluster.x-k8s.io/v1beta2',
  kind: 'Cluster',
  metadata: { name: 'prod', namespace: 'clusters' },
  spec: { controlPlaneEndpoint: { host: 'api.example', port: 6443 } },
};

async function converted(files: readonly object[], beside: readonly object[], kind: 'init' | 'join' = 'init') {
  const config = {
    apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2',
    kind: 'KubeadmConfig',
    metadata: { name: 'a', namespace: 'clusters', labels: { 'cluster.x-k8s.io/cluster-name': 'prod' } },
    spec: { files, ...(kind === 'init' ? { clusterConfiguration: {} } : { joinConfiguration: { controlPlane: {} } }) },
  };
  const text = [config, CLUSTER, ...beside].map((one) => stringify(one)).join('---\n');
  const options = { kubernetesVersion: 'v1.34.2', inlineSecrets: true };
  const { documents, decisions } = await convert([{ name: 'input', text }], options);
  return {
    document: documents[0] === undefined ? undefined : parse(documents[0].yaml),
    codes: decisions.map(({ code }) => code),
    errors: decisions.filter(({ severity }) => severity === 'error').map(({ at, message }) => `${at}: ${message}`),
  };
}

const CA = '/etc/kubernetes/pki/ca.crt';
const own = (more: object = {}): object => ({ path: CA, content: pem('ca.crt'), permissions: '0640', ...more });

describe("the user's own ca.crt", () => {
  for (const kind of ['init', 'join'] as const) {
    test(`beside the Secrets of the cluster, ${kind}: it is the certificate of the document`, async () => {
      const { document, codes, errors } = await converted([own(), { path: '/etc/a', content: 'a\n' }], SECRETS, kind);
      assert.deepEqual(errors, []);
      const { pki } = document.kubernetes;
      assert.equal(pki.ca.certificate, pem('ca.crt'));
      assert.deepEqual(document.secrets[pki.ca.key.secret], { value: pem('ca.key') });
      assert.deepEqual(
        document.host.files.map(({ path }: { path: string }) => path),
        ['/etc/a'],
      );
      assert.ok(codes.includes('OwnCertificate'));
    });
  }

  test('another one takes the place of that of the Secret, as today', async () => {
    const { document, errors } = await converted([own({ content: EXAMPLE_CERTIFICATE })], SECRETS);
    assert.deepEqual(errors, []);
    assert.equal(document.kubernetes.pki.ca.certificate, EXAMPLE_CERTIFICATE);
    assert.deepEqual(document.secrets[document.kubernetes.pki.ca.key.secret], { value: pem('ca.key') });
  });

  test('a whole pair of its own, for a machine that joins without the Secrets', async () => {
    const key = { path: '/etc/kubernetes/pki/ca.key', content: pem('ca.key'), permissions: '0600' };
    const { document, errors } = await converted([own(), key], [], 'join');
    assert.deepEqual(errors, []);
    const { pki } = document.kubernetes;
    assert.deepEqual(document.secrets[pki.ca.key.secret], { value: pem('ca.key') });
    assert.equal(document.host?.files, undefined);
    assert.match(document.secrets[pki.etcd.key.secret].file, /etcd\.key$/);
  });

  test('without Secrets, of the machine that starts the cluster, it stays a file', async () => {
    const { document, errors } = await converted([own()], []);
    assert.deepEqual([errors, document.kubernetes.pki, document.host.files.length], [[], undefined, 1]);
  });

  test('one that root does not own, or that is appended to, is refused with both places', async () => {
    for (const file of [own({ owner: 'ada' }), own({ append: true })]) {
      const { errors } = await converted([file], SECRETS);
      assert.ok(
        errors.some((one) => /managed by kubernetes\.pki\.ca/.test(one)),
        errors.join('\n'),
      );
    }
  });
});
