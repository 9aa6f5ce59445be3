import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import type { PkiModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { checkPki, pkiFiles } from '../../../src/kubernetes/pki.ts';
import { type CertificateWish, selfSigned } from '../../support/certificates.ts';
import { inlineSecret, kubernetesModel, revealInline } from '../../support/kubernetes-model.ts';

const NOW = new Date('2026-11-20T12:00:00Z');
const PASSPHRASE = 'correct horse battery staple';

function pair(wish: Partial<CertificateWish> = {}) {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    certificate: selfSigned({
      key: keys.privateKey,
      publicKey: keys.publicKey,
      notBefore: new Date('2026-11-20T11:55:00Z'),
      notAfter: new Date('2036-11-20T11:55:00Z'),
      authority: true,
      ...wish,
    }),
    key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicKey: keys.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}

const authority = pair();
const other = pair();

function check(pki: Partial<PkiModel>): void {
  checkPki({ kubernetes: kubernetesModel({ pki }), secrets: revealInline, now: NOW });
}

/** The problems as `field: text`; fails when nothing was thrown. */
function problemsOf(pki: Partial<PkiModel>): readonly string[] {
  try {
    check(pki);
  } catch (error) {
    assert.ok(error instanceof MachineadmError);
    assert.equal(error.reason, 'PKIInvalid');
    for (const { source, text } of error.evidence) assert.ok(error.message.includes(`${source}: ${text}`));
    return error.evidence.map(({ source, text }) => `${source}: ${text}`);
  }
  assert.fail('the PKI was accepted');
}

function pairOf(source: { certificate: string; key: string }) {
  return { certificate: source.certificate, key: inlineSecret(source.key) };
}

describe('a usable PKI', () => {
  test('authorities, a client certificate and service account keys that belong together are accepted', () => {
    const client = pair({ authority: false });
    check({
      ca: pairOf(authority),
      etcd: pairOf(other),
      frontProxy: pairOf(authority),
      apiserverEtcdClient: pairOf(client),
      serviceAccount: { publicKey: authority.publicKey, key: inlineSecret(authority.key) },
    });
  });

  test('an authority may come without its key: the cluster then has an external CA', () => {
    check({ ca: { certificate: authority.certificate, key: undefined } });
  });

  test('RSA keys are as good as ECDSA', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    check({
      serviceAccount: {
        publicKey: rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
        key: inlineSecret(rsa.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString()),
      },
    });
  });
});

describe('an unusable PKI is refused before kubeadm runs', () => {
  test('a key of another certificate', () => {
    assert.deepEqual(problemsOf({ ca: { certificate: authority.certificate, key: inlineSecret(other.key) } }), [
      'kubernetes.pki.ca.key: the key does not belong to the certificate',
    ]);
  });

  test('a certificate that is no authority', () => {
    assert.deepEqual(problemsOf({ etcd: pairOf(pair({ authority: false })) }), [
      'kubernetes.pki.etcd.certificate: it is not a certificate authority (CA:TRUE)',
    ]);
  });

  test('an expired certificate', () => {
    assert.deepEqual(problemsOf({ ca: pairOf(pair({ notAfter: NOW })) }), [
      "kubernetes.pki.ca.certificate: it expired at 2026-11-20T12:00:00.000Z, and this machine's clock says 2026-11-20T12:00:00.000Z",
    ]);
  });

  test('certificates of the future alone are ClockSkew: the same document may do later', () => {
    const future = pairOf(pair({ notBefore: new Date('2026-11-20T12:00:01Z') }));
    assert.throws(
      () => check({ ca: future }),
      (error) => {
        assert.ok(error instanceof MachineadmError);
        assert.deepEqual([error.reason, error.retryable, error.exit], ['ClockSkew', true, 'HostStepFailed']);
        assert.match(error.message, /valid only from 2026-11-20T12:00:01.000Z.*clock says 2026-11-20T12:00:00.000Z/);
        assert.match(error.remedy, /host\.time/);
        return true;
      },
    );
  });

  test('a certificate of the future beside another mistake is PKIInvalid, and still points at the clock', () => {
    const future = pairOf(pair({ notBefore: new Date('2026-11-20T12:00:01Z'), authority: false }));
    assert.throws(
      () => check({ ca: future }),
      (error) =>
        error instanceof MachineadmError &&
        error.reason === 'PKIInvalid' &&
        error.remedy.includes('the time of this machine'),
    );
  });

  test('text that is no PEM, in every field, all at once', () => {
    assert.deepEqual(
      problemsOf({
        ca: { certificate: 'nonsense', key: inlineSecret('nonsense too') },
        serviceAccount: { publicKey: 'nonsense', key: inlineSecret('nonsense too') },
      }),
      [
        'kubernetes.pki.ca.certificate: it is not a certificate in PEM',
        'kubernetes.pki.ca.key: it is not a private key in PEM',
        'kubernetes.pki.serviceAccount.publicKey: it is not a public key in PEM',
        'kubernetes.pki.serviceAccount.key: it is not a private key in PEM',
      ],
    );
  });

  test('service account keys that do not belong together', () => {
    assert.deepEqual(problemsOf({ serviceAccount: { publicKey: authority.publicKey, key: inlineSecret(other.key) } }), [
      'kubernetes.pki.serviceAccount.key: the key does not belong to the public key',
    ]);
  });

  test('a private key in a field whose file others may read', () => {
    assert.deepEqual(
      problemsOf({
        ca: { certificate: authority.key + authority.certificate, key: inlineSecret(authority.key) },
        serviceAccount: { publicKey: authority.key, key: inlineSecret(authority.key) },
      }),
      [
        'kubernetes.pki.ca.certificate: it holds a private key, which belongs in the field key',
        'kubernetes.pki.serviceAccount.publicKey: it holds a private key, which belongs in the field key',
      ],
    );
  });

  test('a key with a passphrase', () => {
    const locked = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      .privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: PASSPHRASE })
      .toString();
    assert.deepEqual(problemsOf({ ca: { certificate: authority.certificate, key: inlineSecret(locked) } }), [
      'kubernetes.pki.ca.key: the key has a passphrase, which kubeadm cannot ask for',
    ]);
  });

  test('a kind of key that kubeadm does not take', () => {
    const ed25519 = generateKeyPairSync('ed25519');
    assert.deepEqual(
      problemsOf({
        serviceAccount: {
          publicKey: ed25519.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
          key: inlineSecret(ed25519.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()),
        },
      }),
      ['kubernetes.pki.serviceAccount.key: kubeadm accepts RSA and ECDSA keys, not ed25519'],
    );
  });

  test('no message holds a line of a key', () => {
    const text = problemsOf({
      ca: { certificate: authority.certificate, key: inlineSecret(`${other.key.slice(0, -40)}garbage`) },
    }).join('\n');
    for (const line of other.key.split('\n').filter((part) => part.length >= 16 && !part.startsWith('---'))) {
      assert.ok(!text.includes(line));
    }
  });
});

describe('where the files go', () => {
  const all: PkiModel = {
    ca: pairOf(authority),
    etcd: pairOf(authority),
    frontProxy: pairOf(authority),
    apiserverEtcdClient: pairOf(authority),
    serviceAccount: { publicKey: authority.publicKey.trimEnd(), key: inlineSecret(authority.key) },
  };

  function placed(kubernetes: ReturnType<typeof kubernetesModel>): readonly string[] {
    return pkiFiles({ kubernetes, secrets: revealInline }).map(
      ({ path, mode, uid, gid }) => `${path} ${mode.toString(8)} ${uid}:${gid}`,
    );
  }

  test('below the certificates directory; certificates 0640, keys 0600, all of root', () => {
    assert.deepEqual(placed(kubernetesModel({ pki: all })), [
      '/etc/kubernetes/pki/ca.crt 640 0:0',
      '/etc/kubernetes/pki/ca.key 600 0:0',
      '/etc/kubernetes/pki/etcd/ca.crt 640 0:0',
      '/etc/kubernetes/pki/etcd/ca.key 600 0:0',
      '/etc/kubernetes/pki/front-proxy-ca.crt 640 0:0',
      '/etc/kubernetes/pki/front-proxy-ca.key 600 0:0',
      '/etc/kubernetes/pki/apiserver-etcd-client.crt 640 0:0',
      '/etc/kubernetes/pki/apiserver-etcd-client.key 600 0:0',
      '/etc/kubernetes/pki/sa.pub 640 0:0',
      '/etc/kubernetes/pki/sa.key 600 0:0',
    ]);
  });

  test('for an external etcd at the paths of its section, without its authority key', () => {
    const external = {
      kind: 'external',
      endpoints: ['https://10.0.0.20:2379'],
      caFile: '/etc/etcd/ca.crt',
      certFile: '/etc/etcd/client.crt',
      keyFile: '/etc/etcd/client.key',
      httpEndpoints: [],
    } as const;
    const kubernetes = kubernetesModel({
      pki: { etcd: all.etcd, apiserverEtcdClient: all.apiserverEtcdClient },
      controlPlane: { etcd: external },
      cluster: { certificatesDirectory: '/srv/pki' },
    });
    assert.deepEqual(placed(kubernetes), [
      '/etc/etcd/ca.crt 640 0:0',
      '/etc/etcd/client.crt 640 0:0',
      '/etc/etcd/client.key 600 0:0',
    ]);
  });

  test('a key that is put nowhere is not asked for, neither to place nor to check', () => {
    const external = {
      kind: 'external',
      endpoints: [],
      httpEndpoints: [],
      caFile: '/ca',
      certFile: '/crt',
      keyFile: '/key',
    } as const;
    const kubernetes = kubernetesModel({ pki: { etcd: all.etcd }, controlPlane: { etcd: external } });
    const secrets = () => assert.fail('a secret was read');
    assert.deepEqual(
      pkiFiles({ kubernetes, secrets }).map(({ path }) => path),
      ['/ca'],
    );
    checkPki({ kubernetes, secrets, now: NOW });
  });

  test('every file ends in a newline and holds what the document gave', () => {
    const files = pkiFiles({ kubernetes: kubernetesModel({ pki: all }), secrets: revealInline });
    assert.equal(files.find(({ path }) => path.endsWith('sa.pub'))?.content, authority.publicKey);
    assert.equal(files.find(({ path }) => path.endsWith('/pki/ca.key'))?.content, authority.key);
  });
});
