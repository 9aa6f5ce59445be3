import type { PathSegment } from '../diagnostics/index.ts';
import type { ApiServerModel, KubernetesModel, Model } from '../model/index.ts';
import type { Claim } from '../ownership/claim.ts';
import {
  ADMISSION_CONFIG,
  API_SERVER_TRANSACTION,
  AUDIT_POLICY,
  AUDIT_WEBHOOK,
  AUTHENTICATION_CONFIG,
  AUTHENTICATION_WEBHOOK,
  AUTHORIZATION_CONFIG,
  AUTHORIZATION_WEBHOOK,
  authorizerKubeconfig,
  CANDIDATE_SUFFIX,
  ENCRYPTION_CONFIG,
  KUBEADM_INIT_CONFIG,
  KUBEADM_JOIN_CONFIG,
  KUBEADM_PATCHES_DIRECTORY,
  KUBELET_CONFIG,
  KUBELET_FLAGS_ENVIRONMENT,
  OWN_PATCH,
  staticPodPath,
} from '../ownership/kubernetes-paths.ts';
import { openrcScriptPath, SENTINEL_SERVICE, unitPath } from '../ownership/paths.ts';
import type { StepId } from '../ownership/step-ids.ts';

const FIELD: readonly PathSegment[] = ['kubernetes'];

/** What the Kubernetes steps manage. */
export function kubernetesClaims({ kubernetes, reporting }: Model): readonly Claim[] {
  if (kubernetes === undefined) return [];
  const { sentinelPath } = reporting;
  const sentinel = [
    ...claims('sentinel', ['reporting'], sentinelPath),
    ...claims('sentinel', FIELD, unitPath(SENTINEL_SERVICE), openrcScriptPath(SENTINEL_SERVICE)),
  ];
  if (kubernetes.exec !== undefined) return sentinel;
  return [
    ...sentinel,
    ...pkiClaims(kubernetes),
    ...(kubernetes.role === 'Worker'
      ? []
      : [
          ...apiServerClaims(kubernetes.controlPlane.apiServer),
          ...claims('api-server', [...FIELD, 'controlPlane', 'apiServer'], API_SERVER_TRANSACTION),
        ]),
    ...kubernetes.controlPlane.staticPods.flatMap(({ name }, index) =>
      claims('static-pods', [...FIELD, 'controlPlane', 'staticPods', index], staticPodPath(name)),
    ),
    ...configurationClaims(kubernetes),
    ...kubeadmClaims(kubernetes),
  ];
}

function claims(step: StepId, field: readonly PathSegment[], ...paths: readonly string[]): Claim[] {
  return paths.map((path) => ({ step, field, path, kind: 'file' }));
}

function pkiClaims({ pki, cluster: { certificatesDirectory: directory }, controlPlane: { etcd } }: KubernetesModel) {
  const found: Claim[] = [];
  const add = (name: keyof typeof pki, certificate: string, key?: string): void => {
    const pair = pki[name];
    if (pair === undefined) return;
    found.push(...claims('pki', [...FIELD, 'pki', name], certificate));
    if (key !== undefined && pair.key !== undefined) found.push(...claims('pki', [...FIELD, 'pki', name], key));
  };
  const below = (name: string) => [`${directory}/${name}.crt`, `${directory}/${name}.key`] as const;
  add('ca', ...below('ca'));
  if (etcd.kind === 'external') {
    add('etcd', etcd.caFile);
    add('apiserverEtcdClient', etcd.certFile, etcd.keyFile);
  } else {
    add('etcd', ...below('etcd/ca'));
    add('apiserverEtcdClient', ...below('apiserver-etcd-client'));
  }
  add('frontProxy', ...below('front-proxy-ca'));
  add('serviceAccount', `${directory}/sa.pub`, `${directory}/sa.key`);
  return found;
}

function apiServerClaims({ audit, encryptionAtRest, authentication, authorization, admission }: ApiServerModel) {
  const found: Claim[] = [];
  const add = (section: keyof ApiServerModel, isThere: boolean, ...paths: readonly string[]): void => {
    if (!isThere) return;
    found.push(...claims('control-plane-files', [...FIELD, 'controlPlane', 'apiServer', section], ...paths));
  };
  add('audit', audit !== undefined, AUDIT_POLICY);
  add('audit', audit?.webhook !== undefined, AUDIT_WEBHOOK);
  add('encryptionAtRest', encryptionAtRest !== undefined, ENCRYPTION_CONFIG);
  add('authentication', authentication?.webhook !== undefined, AUTHENTICATION_WEBHOOK);
  add('authentication', authentication?.structured !== undefined, AUTHENTICATION_CONFIG);
  add('authorization', authorization?.kind === 'webhook', AUTHORIZATION_WEBHOOK);
  if (authorization?.kind === 'structured') {
    const webhooks = authorization.authorizers.filter(({ webhook }) => webhook !== undefined);
    add('authorization', true, ...webhooks.map(({ name }) => authorizerKubeconfig(name)), AUTHORIZATION_CONFIG);
  }
  add('admission', (admission?.config ?? []).length > 0, ADMISSION_CONFIG);
  return found;
}

/** What kubeadm reads. */
function configurationClaims({ role, join }: KubernetesModel): Claim[] {
  const { discovery } = join ?? {};
  const written = discovery !== undefined && 'path' in discovery && discovery.kubeconfig !== undefined;
  const configuration = role === 'InitControlPlane' ? KUBEADM_INIT_CONFIG : KUBEADM_JOIN_CONFIG;
  return [
    ...claims('kubeadm-config', FIELD, configuration, `${configuration}${CANDIDATE_SUFFIX}`),
    { step: 'kubeadm-config', field: FIELD, path: KUBEADM_PATCHES_DIRECTORY, kind: 'names', names: OWN_PATCH },
    ...(written ? claims('kubeadm-config', [...FIELD, 'join', 'discovery'], discovery.path) : []),
  ];
}

/**
 * Files that kubeadm writes in each run, even if they exist: a file of the document would be replaced, and the next run
 * would restore it under a running kubelet or component. Kubeconfigs are not included: with an external authority they
 * come from the document.
 */
function kubeadmClaims({ role, kubeadm: { skipPhases }, controlPlane: { etcd } }: KubernetesModel): Claim[] {
  const performs = (phase: string) =>
    !skipPhases.some((skipped) => skipped === phase || skipped.startsWith(`${phase}/`));
  const kubelet = performs('kubelet-start') ? [KUBELET_CONFIG, KUBELET_FLAGS_ENVIRONMENT] : [];
  const controlPlane =
    role === 'Worker' || !performs(role === 'InitControlPlane' ? 'control-plane' : 'control-plane-prepare')
      ? []
      : ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
  const stacked =
    role !== 'Worker' && etcd.kind === 'local' && performs(role === 'InitControlPlane' ? 'etcd' : 'control-plane-join');
  const manifests = [...controlPlane, ...(stacked ? ['etcd'] : [])].map(staticPodPath);
  return claims('kubeadm', FIELD, ...kubelet, ...manifests);
}
