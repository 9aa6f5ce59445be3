import {
  all,
  any,
  atMostOne,
  contains,
  given,
  has,
  is,
  type JsonSchema,
  must,
  not,
  text,
  when,
  without,
  writtenSecret,
} from '../../fields/conditions.ts';
import { KUBEADM_PODS } from '../../ownership/kubernetes-paths.ts';
import { apiServerFiles } from '../api-server/files.ts';
import { TOKEN } from './cluster.ts';
import { CERTIFICATE_KEY } from './control-plane.ts';

/** What `checks*.ts` refuse across the fields of `kubernetes`, as far as a JSON Schema can judge it. */
export function kubernetesConditions(): readonly JsonSchema[] {
  return [
    when(is('role', 'InitControlPlane'), without('join'), all(has('join'), without('cluster.bootstrapTokens'))),
    when(is('role', 'Worker'), without('controlPlane', 'pki', 'ready.endpoint')),
    when(given('bootstrapper.exec'), ofExec(), all(ofKubeadm(), kubeadmConfiguration())),
  ];
}

const extraDocuments = 'bootstrapper.kubeadm.extraDocuments';

/** A patch of a list; patches may be a directory, too. */
const target = (schema: JsonSchema): JsonSchema =>
  must(
    'bootstrapper.kubeadm.patches',
    any({ type: 'object' }, { type: 'array', items: { type: 'object', ...must('target', schema) } }),
  );

function ofKubeadm(): JsonSchema {
  const token = writtenSecret(TOKEN);
  return all(
    must('version', text(/^v1\.(?:[2-9]\d|[1-9]\d{2,})\./)),
    must('ready.require', not({ const: 'Command' })),
    when(is('role', 'JoinControlPlane'), any(given('controlPlane.certificateKey'), given('pki.ca.key'))),
    must('join.discovery.token', {
      type: 'object',
      oneOf: [given('caCertHashes', { type: 'array', minItems: 1 }), is('unsafeSkipCAVerification', true)],
    }),
    must('cluster.bootstrapTokens[].token', token),
    without('cluster.bootstrapTokens[].expires'),
    must(
      'cluster.bootstrapTokens[].usages',
      any({ type: 'array', maxItems: 0 }, contains({ const: 'authentication' })),
    ),
    must('join.discovery.token.token', token),
    must('join.tlsBootstrapToken', token),
    must('controlPlane.certificateKey', writtenSecret(CERTIFICATE_KEY)),
    must('controlPlane.staticPods[].name', not({ enum: KUBEADM_PODS })),
    when(
      given('node.addresses'),
      all(
        without('controlPlane.apiEndpoint.advertiseAddress'),
        must('node.kubelet.args[].name', not({ const: 'node-ip' })),
        must('controlPlane.apiServer.args[].name', not({ const: 'advertise-address' })),
      ),
    ),
    when(is('role', 'Worker'), target({ const: 'kubeletconfiguration' })),
    when(is('role', 'JoinControlPlane'), target(not({ const: 'corednsdeployment' }))),
    must(extraDocuments, atMostOne(is('kind', 'KubeletConfiguration'))),
    must(extraDocuments, atMostOne(is('kind', 'KubeProxyConfiguration'))),
    when(given('node.kubelet.config'), must(`${extraDocuments}[].kind`, not({ const: 'KubeletConfiguration' }))),
    when(given('addons.proxy.config'), must(`${extraDocuments}[].kind`, not({ const: 'KubeProxyConfiguration' }))),
  );
}

/** What kubeadm refuses whatever its version: `checks-kubeadm-cluster.ts`. */
function kubeadmConfiguration(): JsonSchema {
  return all(
    when(
      given('bootstrapper.kubeadm.ignorePreflightErrors', contains(text(/^[Aa][Ll][Ll]$/))),
      must('bootstrapper.kubeadm.ignorePreflightErrors[]', text(/^[Aa][Ll][Ll]$/)),
    ),
    when(
      is('role', 'InitControlPlane'),
      must('controlPlane.etcd.external.endpoints[]', text(/^https:/)),
      must('join.caCertPath', text(/\.crt$/)),
    ),
  );
}

function ofExec(): JsonSchema {
  return all(
    must('ready.require', not({ enum: ['NodeRegistered', 'NodeReady'] })),
    when(is('ready.require', 'Command'), given('bootstrapper.exec.successTest')),
    without('ready.endpoint', 'node.addresses'),
    without(
      'controlPlane.certificates',
      'controlPlane.staticPods',
      ...Object.keys(apiServerFiles).map((name) => `controlPlane.apiServer.${name}`),
    ),
  );
}
