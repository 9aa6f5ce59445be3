import type { WebhookConnection } from '@machineadm/document/model/index.ts';
import { omitUndefined } from '@machineadm/document/values/defined.ts';
import { writeDocument } from '@machineadm/kubeadm/yaml.ts';
import type { SecretLookup } from '../secrets.ts';

/**
 * The kubeconfig with which the API server reaches a webhook (k/k
 * staging/src/k8s.io/apiserver/pkg/util/webhook/webhook.go), with embedded credentials. Contains secrets.
 */
export function webhookKubeconfig(connection: WebhookConnection, secrets: SecretLookup): string {
  const { server, tlsServerName, certificateAuthority, clientCertificate, token } = connection;
  const name = 'webhook';
  return writeDocument({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name,
        cluster: omitUndefined({
          server,
          'tls-server-name': tlsServerName,
          'certificate-authority-data': base64(certificateAuthority),
        }),
      },
    ],
    users: [
      {
        name: 'api-server',
        user: omitUndefined({
          token: token === undefined ? undefined : secrets(token),
          'client-certificate-data': base64(clientCertificate?.certificate),
          'client-key-data': clientCertificate === undefined ? undefined : base64(secrets(clientCertificate.key)),
        }),
      },
    ],
    contexts: [{ name, context: { cluster: name, user: 'api-server' } }],
    'current-context': name,
  });
}

function base64(text: string | undefined): string | undefined {
  return text === undefined ? undefined : Buffer.from(text, 'utf8').toString('base64');
}
