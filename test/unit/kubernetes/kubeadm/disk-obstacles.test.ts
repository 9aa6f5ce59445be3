import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import { credentialObstacles, placeObstacles } from '../../../../src/kubernetes/kubeadm/disk-obstacles.ts';
import { kubeconfig, newAuthority } from '../../../support/api-server.ts';
import { hostModel } from '../../../support/host-model.ts';
import { inlineSecret, type KubernetesOverrides, kubernetesModel } from '../../../support/kubernetes-model.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const PKI = '/etc/kubernetes/pki';
const authority = newAuthority();
const other = newAuthority();
const NOW = Date.now();

async function found(overrides: KubernetesOverrides, files: Readonly<Record<string, string>>, now = NOW) {
  const kubernetes = kubernetesModel(overrides);
  const model: Model = { ...hostModel(), kubernetes };
  const host = memoryHost({ files });
  const asked = { kubernetes, model, kubeadm: undefined, isProvided: () => false, isMounted: () => false };
  const obstacles = await credentialObstacles(host, asked, now);
  assert.deepEqual(host.log, []);
  return obstacles.map(({ reason, what }) => `${reason} ${what.match(/\/etc\S+/)?.[0]}`);
}

const DECADE = 20 * 365 * 86_400_000;
const ca = { [`${PKI}/ca.crt`]: authority.certificate };
const serving = (by: typeof authority) => ({
  [`${PKI}/apiserver.crt`]: by.issue('kube-apiserver', ['127.0.0.1']).certificate,
});
const admin = (by: typeof authority) => ({
  '/etc/kubernetes/admin.conf': kubeconfig('https://127.0.0.1:6443', by.certificate, by.issue('admin')),
});

describe('certificates and kubeconfigs on the disk before kubeadm init', () => {
  test('that are of one cluster and valid are no obstacle', async () => {
    assert.deepEqual(await found({}, {}), []);
    assert.deepEqual(await found({}, { ...ca, ...serving(authority), ...admin(authority) }), []);
  });

  test('that expired, or are not valid yet', async () => {
    assert.deepEqual(await found({}, ca, NOW + DECADE), [`CertificateExpired ${PKI}/ca.crt`]);
    assert.deepEqual(await found({}, ca, NOW - DECADE), [`ClockSkew ${PKI}/ca.crt`]);
  });

  test('that are of another authority: the one on the disk, or the one of the document', async () => {
    const stale = [`StaleCertificates ${PKI}/apiserver.crt`];
    assert.deepEqual(await found({}, { ...ca, ...serving(other) }), stale);
    const pki = { ca: { certificate: authority.certificate, key: undefined } };
    assert.deepEqual(await found({ pki }, serving(other)), stale);
    assert.deepEqual(await found({ pki }, serving(authority)), []);
  });

  test('that are damaged', async () => {
    assert.deepEqual(await found({}, { [`${PKI}/sa.pub`]: 'x' }), [`CertificateUnreadable ${PKI}/sa.pub`]);
  });

  test('a kubeconfig of another authority', async () => {
    const stale = ['StaleKubeconfig /etc/kubernetes/admin.conf'];
    assert.deepEqual(await found({}, { ...ca, ...admin(other) }), stale);
    assert.deepEqual(await found({}, admin(other)), stale);
  });

  test('a CA of another cluster than the one that a control plane joins', async () => {
    const join = (hash: string): KubernetesOverrides => ({
      role: 'JoinControlPlane',
      join: {
        discovery: {
          token: inlineSecret('abcdef.0123456789abcdef'),
          endpoint: '10.0.0.1:6443',
          caCertHashes: [hash],
          unsafeSkipCAVerification: false,
        },
        tlsBootstrapToken: undefined,
        caCertPath: `${PKI}/ca.crt`,
      },
    });
    assert.deepEqual(await found(join(`sha256:${'0'.repeat(64)}`), ca), [`StaleCertificates ${PKI}/ca.crt`]);
    assert.deepEqual(await found(join(`sha256:${'0'.repeat(64)}`), {}), []);
  });
});

describe('file systems on which a node writes', () => {
  const on = (target: string, free: number, options = 'rw') =>
    memoryHost({
      programs: {
        findmnt: ({ args }) => ({
          stdout: args.at(-1) === target ? `${target} 1000000000 ${free} ${options}\n` : '/ 9000000000 8000000000 rw\n',
        }),
      },
    });
  const places = async (host: ReturnType<typeof on>, overrides: KubernetesOverrides = {}, mounted: string[] = []) => {
    const kubernetes = kubernetesModel(overrides);
    const model: Model = { ...hostModel(), kubernetes };
    const isMounted = (path: string) => mounted.includes(path);
    const asked = { kubernetes, model, kubeadm: undefined, isProvided: () => false, isMounted };
    return (await placeObstacles(host, asked)).map(({ reason, what }) => `${reason} ${what}`);
  };

  test('are an obstacle where they are full or read-only, unless the document mounts others there', async () => {
    const full = [
      'DiskFull the file system of /var/lib/etcd (/var/lib/etcd) is full: 15625 KiB are free, and a node needs 62500 KiB there',
    ];
    const small = () => on('/var/lib/etcd', 16_000_000);
    assert.deepEqual(await places(small()), full);
    assert.deepEqual(await places(small(), {}, ['/var/lib/etcd']), []);
    assert.deepEqual(await places(small(), { role: 'Worker' }), []);
    assert.deepEqual(await places(on('/var/lib/kubelet', 1e9, 'ro,nosuid')), [
      'ReadOnlyFilesystem the file system of /var/lib/kubelet (/var/lib/kubelet) is read-only, and a node writes there',
    ]);
    assert.deepEqual(await places(on('/etc/kubernetes', 0)), [
      'DiskFull the file system of /etc/kubernetes (/etc/kubernetes) is full: 0 KiB are free, and a node needs 64 KiB there',
    ]);
  });
});
