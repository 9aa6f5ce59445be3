import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, test } from 'node:test';
import { checkCertificates } from '../../../../src/diagnosis/checks/certificates.ts';
import { selfSigned } from '../../../support/certificates.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const NOW = Date.parse('2026-11-20T10:00:00Z');
const DAY = 24 * 3_600_000;
const WEEK = 7 * DAY;
const PKI = '/etc/kubernetes/pki';
const KUBELET = '/var/lib/kubelet/pki/kubelet-client-current.pem';

interface Pair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}
const pair = (): Pair => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const [CLUSTER, FRONT, ETCD, STRANGER] = [pair(), pair(), pair(), pair()];

/** A certificate that is signed by the key of a pair, which its public key need not be of. */
function signedBy({ privateKey: key }: Pair, publicKey: KeyObject, from = -DAY, to = 365 * DAY): string {
  const [notBefore, notAfter] = [new Date(NOW + from), new Date(NOW + to)];
  return selfSigned({ key, publicKey, notBefore, notAfter, authority: true, commonName: 'x' });
}

const authority = (of: Pair): string => signedBy(of, of.publicKey);

async function found(files: Readonly<Record<string, string>>) {
  return await checkCertificates(memoryHost({ files }), NOW);
}

/** Each certificate of a node, and the CA that has to have signed it. */
const SIGNED: readonly (readonly [string, Pair])[] = [
  ['apiserver.crt', CLUSTER],
  ['apiserver-kubelet-client.crt', CLUSTER],
  ['front-proxy-client.crt', FRONT],
  ['etcd/server.crt', ETCD],
  ['etcd/peer.crt', ETCD],
  ['etcd/healthcheck-client.crt', ETCD],
  ['apiserver-etcd-client.crt', ETCD],
];
const AUTHORITIES = {
  [`${PKI}/ca.crt`]: authority(CLUSTER),
  [`${PKI}/front-proxy-ca.crt`]: authority(FRONT),
  [`${PKI}/etcd/ca.crt`]: authority(ETCD),
};

describe('the certificates of a node', () => {
  test('are all checked, each against its own CA', async () => {
    const own = SIGNED.map(([name, ca]) => [`${PKI}/${name}`, signedBy(ca, STRANGER.publicKey)] as const);
    const files = { ...AUTHORITIES, ...Object.fromEntries(own), [KUBELET]: signedBy(CLUSTER, STRANGER.publicKey) };
    const paths = [...Object.keys(AUTHORITIES), ...own.map(([path]) => path), KUBELET];
    assert.deepEqual(
      await found(files),
      paths.map((path) => ({
        id: `certificate${path}`,
        title: 'certificates',
        severity: 'passed',
        text: `${path} is valid until ${new Date(NOW + 365 * DAY).toISOString()}`,
      })),
    );
  });

  for (const path of [...SIGNED.map(([name]) => `${PKI}/${name}`), KUBELET])
    test(`are stale where another CA signed them: ${path}`, async () => {
      const findings = await found({ ...AUTHORITIES, [path]: signedBy(STRANGER, STRANGER.publicKey) });
      assert.deepEqual(findings.at(-1), {
        id: `certificate${path}`,
        title: 'certificates',
        severity: 'failed',
        reason: 'StaleCertificates',
        text: `certificate ${path} is not signed by the CA beside it`,
        remedy: 'Move it and its key out of the directory, so that kubeadm creates new ones. Keep the CA.',
      });
    });

  test('are not compared with a CA that the machine does not have, as on a worker', async () => {
    const files = { [KUBELET]: signedBy(STRANGER, CLUSTER.publicKey) };
    assert.deepEqual(
      (await found(files)).map(({ id, severity }) => `${id} ${severity}`),
      [`certificate${KUBELET} passed`],
    );
  });

  const TIMES: readonly (readonly [string, number, number, string, string | undefined])[] = [
    ['begins now', 0, 365 * DAY, 'passed', undefined],
    ['begins in a second', 1_000, 365 * DAY, 'failed', 'ClockSkew'],
    ['ends now', -DAY, 0, 'warning', 'CertificateExpired'],
    ['ended a second ago', -DAY, -1_000, 'failed', 'CertificateExpired'],
    ['ends in a week', -DAY, WEEK, 'passed', undefined],
    ['ends a second earlier', -DAY, WEEK - 1_000, 'warning', 'CertificateExpired'],
  ];
  for (const [what, from, to, severity, reason] of TIMES)
    test(`are ${severity} where one ${what}`, async () => {
      const [only, ...more] = await found({ [KUBELET]: signedBy(STRANGER, STRANGER.publicKey, from, to) });
      assert.deepEqual(
        [only?.id, only?.title, only?.severity, only?.reason, more],
        [`certificate${KUBELET}`, 'certificates', severity, reason, []],
      );
    });

  test('that hold no certificate are named; the file of the kubelet may still be a key alone', async () => {
    const key = CLUSTER.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
    const files = { [`${PKI}/ca.crt`]: key, [`${PKI}/apiserver.crt`]: broken, [KUBELET]: key };
    assert.deepEqual(
      await found(files),
      ['ca.crt', 'apiserver.crt'].map((name) => ({
        id: `certificate${PKI}/${name}`,
        title: 'certificates',
        severity: 'failed',
        reason: 'CertificateUnreadable',
        text: `${PKI}/${name} holds no certificate that can be read`,
        remedy:
          'Replace it with the PEM of the certificate, or move it out of the directory, so that kubeadm creates one.',
      })),
    );
  });

  test('are read from a file that has the key first, as the file of the kubelet may', async () => {
    const key = CLUSTER.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const [only] = await found({ [KUBELET]: key + signedBy(CLUSTER, CLUSTER.publicKey) });
    assert.equal(only?.severity, 'passed');
  });

  test('are none on a machine that is no node', async () => {
    assert.deepEqual(await found({}), []);
  });
});
