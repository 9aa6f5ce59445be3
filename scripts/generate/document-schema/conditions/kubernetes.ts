import type { JsonSchema } from '@machineadm/document/sections/conditions.ts';
import {
  all,
  any,
  atLeastOne,
  atMostOne,
  contains,
  exactlyOne,
  exclusive,
  given,
  has,
  is,
  must,
  not,
  text,
  when,
  without,
  writtenSecret,
} from '@machineadm/document/sections/conditions.ts';
import { CERTIFICATE_KEY, TOKEN } from '@machineadm/document/versions/v1alpha1/checks-kubernetes.ts';

const token = writtenSecret(TOKEN);
const extraDocuments = 'bootstrapper.kubeadm.extraDocuments';

/** A patch of a list; patches may be a directory, too. */
const target = (schema: JsonSchema): JsonSchema =>
  must(
    'bootstrapper.kubeadm.patches',
    any({ type: 'object' }, { type: 'array', items: { type: 'object', ...must('target', schema) } }),
  );

const kubeadm = all(
  must('version', text(/^v1\.(?:[2-9]\d|[1-9]\d{2,})\./)),
  must('ready.require', not({ const: 'Command' })),
  when(is('role', 'JoinControlPlane'), any(given('controlPlane.certificateKey'), given('pki.ca.key'))),
  must('join.discovery.token', {
    type: 'object',
    oneOf: [given('caCertHashes', { type: 'array', minItems: 1 }), is('unsafeSkipCAVerification', true)],
  }),
  must('cluster.bootstrapTokens[].token', token),
  without('cluster.bootstrapTokens[].expires'),
  must('cluster.bootstrapTokens[].usages', any({ type: 'array', maxItems: 0 }, contains({ const: 'authentication' }))),
  must('join.discovery.token.token', token),
  must('join.tlsBootstrapToken', token),
  must('controlPlane.certificateKey', writtenSecret(CERTIFICATE_KEY)),
  must(
    'controlPlane.staticPods[].name',
    not({ enum: ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] }),
  ),
  when(is('role', 'Worker'), target({ const: 'kubeletconfiguration' })),
  when(is('role', 'JoinControlPlane'), target(not({ const: 'corednsdeployment' }))),
  must(extraDocuments, atMostOne(is('kind', 'KubeletConfiguration'))),
  must(extraDocuments, atMostOne(is('kind', 'KubeProxyConfiguration'))),
  when(given('node.kubelet.config'), must(`${extraDocuments}[].kind`, not({ const: 'KubeletConfiguration' }))),
  when(given('addons.proxy.config'), must(`${extraDocuments}[].kind`, not({ const: 'KubeProxyConfiguration' }))),
);

/** What kubeadm refuses whatever its version: `checks-kubeadm-cluster.ts`. */
const kubeadmConfiguration = all(
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

const exec = all(
  must('ready.require', not({ enum: ['NodeRegistered', 'NodeReady'] })),
  when(is('ready.require', 'Command'), given('bootstrapper.exec.successTest')),
  without(
    'controlPlane.staticPods',
    ...['audit', 'encryptionAtRest', 'authentication', 'authorization', 'admission'].map(
      (name) => `controlPlane.apiServer.${name}`,
    ),
  ),
);

export const KUBERNETES_CONDITIONS: Readonly<Record<string, readonly JsonSchema[]>> = {
  kubernetes: [
    when(is('role', 'InitControlPlane'), without('join'), all(has('join'), without('cluster.bootstrapTokens'))),
    when(is('role', 'Worker'), without('controlPlane', 'pki')),
    when(given('bootstrapper.exec'), exec, all(kubeadm, kubeadmConfiguration)),
  ],
  'kubernetes.bootstrapper': [exclusive('kubeadm', 'exec')],
  'kubernetes.bootstrapper.kubeadm.patches[]': [
    when(is('type', 'json'), must('patch', { type: 'array' }), must('patch', { type: 'object' })),
  ],
  'kubernetes.cluster.bootstrapTokens[]': [exclusive('ttl', 'expires')],
  'kubernetes.controlPlane.etcd': [exclusive('local', 'external')],
  'kubernetes.join': [when(given('discovery.file.kubeconfig', not(has('user'))), has('tlsBootstrapToken'))],
  'kubernetes.join.discovery': [exactlyOne('token', 'file')],
  'kubernetes.join.discovery.file': [atLeastOne('kubeconfig', 'path')],
  'kubernetes.join.discovery.file.kubeconfig': [
    when(is('insecureSkipTLSVerify', true), without('certificateAuthority')),
  ],
  'kubernetes.addons.proxy': [when(is('enabled', false), without('config'))],
};
