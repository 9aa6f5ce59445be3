import type * as z from 'zod';
import { certificateOrVariable, EXAMPLE_CERTIFICATE, publicKeyPem } from '../../fields/certificates.ts';
import type { ResolveSecret } from '../../fields/convert-values.ts';
import { define, field, object } from '../../fields/field.ts';
import { secret } from '../../fields/types.ts';
import type { SecretValue } from '../../secrets/secret.ts';

export interface PkiModel {
  readonly ca: KeyPair | undefined;
  readonly etcd: KeyPair | undefined;
  readonly frontProxy: KeyPair | undefined;
  readonly serviceAccount: { readonly publicKey: string; readonly key: SecretValue } | undefined;
  readonly apiserverEtcdClient: KeyPair | undefined;
}

export interface KeyPair {
  /** PEM. */
  readonly certificate: string;
  /** PEM; undefined where only the certificate is handed out (an external CA, a worker). */
  readonly key: SecretValue | undefined;
}

const keyPair = define(
  'KeyPair',
  object({
    certificate: field(certificateOrVariable, 'The certificate in PEM form.', { example: EXAMPLE_CERTIFICATE }),
    key: field(secret, 'The private key in PEM form.', {
      absent: 'only the certificate is handed out',
      example: { secret: 'caKey' },
    }),
  }),
  'A certificate and its key.',
  { certificate: EXAMPLE_CERTIFICATE, key: { secret: 'caKey' } },
);

export const pki = object({
  ca: field(keyPair, 'The authority of the cluster.', {
    absent: 'kubeadm makes or fetches it',
    example: { certificate: EXAMPLE_CERTIFICATE, key: { secret: 'caKey' } },
  }),
  etcd: field(keyPair, 'The authority of etcd.', {
    absent: 'kubeadm makes or fetches it',
    example: { certificate: EXAMPLE_CERTIFICATE, key: { secret: 'caKey' } },
  }),
  frontProxy: field(keyPair, 'The authority of the aggregation layer.', {
    absent: 'kubeadm makes or fetches it',
    example: { certificate: EXAMPLE_CERTIFICATE, key: { secret: 'caKey' } },
  }),
  serviceAccount: field(
    object({
      publicKey: field(publicKeyPem, 'The public key in PEM form.', {
        example: '-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----\n',
      }),
      key: field(secret, 'The private key in PEM form.', { example: { secret: 'serviceAccountKey' } }),
    }),
    'The key pair that signs tokens of service accounts.',
    {
      absent: 'kubeadm makes or fetches it',
      example: {
        publicKey: '-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----\n',
        key: { secret: 'serviceAccountKey' },
      },
    },
  ),
  apiserverEtcdClient: field(keyPair, 'The certificate with which the API server connects to an external etcd.', {
    absent: 'kubeadm makes it',
    example: { certificate: EXAMPLE_CERTIFICATE, key: { secret: 'caKey' } },
  }),
});

type PkiSection = z.infer<typeof pki>;

export function toPki(section: PkiSection | undefined, resolve: ResolveSecret): PkiModel {
  const keyPair = (name: 'ca' | 'etcd' | 'frontProxy' | 'apiserverEtcdClient'): KeyPair | undefined => {
    const pair = section?.[name];
    if (pair === undefined) return undefined;
    const key = pair.key === undefined ? undefined : resolve(pair.key, `kubernetes.pki.${name}.key`);
    return { certificate: pair.certificate, key };
  };
  const account = section?.serviceAccount;
  return {
    ca: keyPair('ca'),
    etcd: keyPair('etcd'),
    frontProxy: keyPair('frontProxy'),
    serviceAccount:
      account === undefined
        ? undefined
        : { publicKey: account.publicKey, key: resolve(account.key, 'kubernetes.pki.serviceAccount.key') },
    apiserverEtcdClient: keyPair('apiserverEtcdClient'),
  };
}
