import type { JoinModel } from '@machineadm/document/model/index.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';

/** How a machine joins, where a test is not about that. */
export function joinWithToken(): JoinModel {
  const source = { kind: 'value', secret: new Secret('abcdef.0123456789abcdef') } as const;
  return {
    discovery: {
      token: { name: 'token', source },
      endpoint: '10.0.0.10:6443',
      caCertHashes: [`sha256:${'0'.repeat(64)}`],
      unsafeSkipCAVerification: false,
    },
    tlsBootstrapToken: undefined,
    caCertPath: '/etc/kubernetes/pki/ca.crt',
  };
}
