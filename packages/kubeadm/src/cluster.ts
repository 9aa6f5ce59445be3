import { FEATURES, has } from '@machineadm/document/kubernetes-releases/features.ts';
import type {
  ApiServerModel,
  ClusterModel,
  ComponentModel,
  ControlPlaneModel,
  EtcdModel,
  KubernetesModel,
} from '@machineadm/document/model/index.ts';
import { DEFAULT_CERTIFICATES_DIRECTORY, type KubeadmPod } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { omitEmpty, omitUndefined } from '@machineadm/document/values/defined.ts';
import { apiServerComponent } from './api-server-component.ts';
import { renderArguments, renderEnvironment } from './arguments.ts';
import { componentModel } from './components.ts';
import { featureGates } from './feature-gates.ts';
import { type Fields, goDuration, listOrNothing, sortedByKey } from './fields.ts';
import { needsKubeadm, type Problems } from './problems.ts';
import { type KubeadmTarget, kubeadmWith } from './version.ts';

/** kubeadm's defaults (k/k cmd/kubeadm/app/constants/constants.go): asking for them asks for nothing. */
const DEFAULT_CERTIFICATE_VALIDITY_MS = 365 * 24 * 3_600_000;
const DEFAULT_CA_CERTIFICATE_VALIDITY_MS = 10 * 365 * 24 * 3_600_000;

/** The ClusterConfiguration of `kubeadm init`. Joining machines read it from the cluster, so it is not rendered for them. */
export function clusterConfiguration(kubernetes: KubernetesModel, target: KubeadmTarget, problems: Problems): Fields {
  const { cluster, controlPlane, addons } = kubernetes;
  return omitUndefined({
    apiVersion: `kubeadm.k8s.io/${target.configVersion}`,
    kind: 'ClusterConfiguration',
    clusterName: cluster.name,
    kubernetesVersion: kubernetes.version,
    controlPlaneEndpoint: cluster.controlPlaneEndpoint,
    networking: networking(cluster, target, problems),
    imageRepository: cluster.imageRepository,
    certificatesDir:
      cluster.certificatesDirectory === DEFAULT_CERTIFICATES_DIRECTORY ? undefined : cluster.certificatesDirectory,
    featureGates: omitEmpty(sortedByKey(featureGates(cluster, target, problems))),
    ...certificateFields(cluster, target, problems),
    apiServer: omitEmpty({
      ...apiServerFields(controlPlane.apiServer, target, problems),
      certSANs: listOrNothing(controlPlane.apiServer.certSANs),
      timeoutForControlPlane: target.configVersion === 'v1beta4' ? undefined : controlPlaneTimeout(kubernetes),
    }),
    controllerManager: omitEmpty(
      component(controlPlane.controllerManager, 'kubernetes.controlPlane.controllerManager', target, problems),
    ),
    scheduler: omitEmpty(component(controlPlane.scheduler, 'kubernetes.controlPlane.scheduler', target, problems)),
    etcd: etcd(controlPlane.etcd, target, problems),
    dns: omitEmpty({
      imageRepository: addons.dns.imageRepository,
      imageTag: addons.dns.imageTag,
      // Before v1beta4 the addon's phase is skipped instead (phases.ts).
      disabled: target.configVersion === 'v1beta4' && !addons.dns.enabled ? true : undefined,
    }),
    proxy: target.configVersion === 'v1beta4' && !addons.proxy.enabled ? { disabled: true } : undefined,
  });
}

/** Arguments, variables and volumes of a static pod of kubeadm, in the shape of the target's version. */
export function componentFields(
  controlPlane: ControlPlaneModel,
  pod: KubeadmPod,
  target: KubeadmTarget,
  problems: Problems,
): Fields {
  const field = 'kubernetes.controlPlane';
  switch (pod) {
    case 'kube-apiserver':
      return apiServerFields(controlPlane.apiServer, target, problems);
    case 'kube-controller-manager':
      return component(controlPlane.controllerManager, `${field}.controllerManager`, target, problems);
    case 'kube-scheduler':
      return component(controlPlane.scheduler, `${field}.scheduler`, target, problems);
    case 'etcd':
      return component(componentModel(controlPlane, pod), `${field}.etcd.local`, target, problems);
  }
}

/** Arguments, variables and volumes of the API server, in the shape of the target's version. */
function apiServerFields(apiServer: ApiServerModel, target: KubeadmTarget, problems: Problems): Fields {
  const field = 'kubernetes.controlPlane.apiServer';
  if (apiServer.authorization?.kind === 'structured' && !has('authorizationFileAlone', target.minor)) {
    problems.add({
      field: `${field}.authorization.structured`,
      problem: 'this kubeadm always sets the authorization modes, too, and the API server refuses both',
      remedy: needsKubeadm(FEATURES.authorizationFileAlone.since, `${field}.authorization.structured`),
    });
  }
  return component(apiServerComponent(apiServer), field, target, problems);
}

function controlPlaneTimeout(kubernetes: KubernetesModel): string | undefined {
  const milliseconds = kubernetes.timeouts.controlPlaneMs;
  return milliseconds === undefined ? undefined : goDuration(milliseconds);
}

/** Two families in kubeadm 1.20 need its gate: without it `only one CIDR allowed for single-stack networking`. */
function networking(cluster: ClusterModel, target: KubeadmTarget, problems: Problems): Fields | undefined {
  if (!has('dualStack', target.minor) && cluster.featureGates.IPv6DualStack !== true) {
    for (const [field, subnets] of [
      ['kubernetes.cluster.podSubnets', cluster.podSubnets],
      ['kubernetes.cluster.serviceSubnets', cluster.serviceSubnets],
    ] as const) {
      if (subnets.length < 2) continue;
      problems.add({
        field,
        problem: 'two address families need the feature gate IPv6DualStack in kubeadm 1.20',
        remedy: 'Set kubernetes.cluster.featureGates.IPv6DualStack to true, or use kubeadm 1.21 or newer.',
      });
    }
  }
  return omitEmpty({
    podSubnet: commaSeparated(cluster.podSubnets),
    serviceSubnet: commaSeparated(cluster.serviceSubnets),
    dnsDomain: cluster.dnsDomain,
  });
}

function commaSeparated(list: readonly string[]): string | undefined {
  return list.length === 0 ? undefined : list.join(',');
}

/** Key algorithm and validity, fields of v1beta4. */
function certificateFields(cluster: ClusterModel, target: KubeadmTarget, problems: Problems): Fields {
  const algorithm = cluster.encryptionAlgorithm;
  if (algorithm === 'ECDSA-P384' && !has('ecdsaP384', target.minor)) {
    problems.add({
      field: 'kubernetes.cluster.encryptionAlgorithm',
      problem: 'ECDSA-P384 is not known to this version',
      remedy: `Use kubeadm 1.${FEATURES.ecdsaP384.since} or newer, or choose another algorithm.`,
    });
  }
  if (target.configVersion === 'v1beta4') {
    return {
      encryptionAlgorithm: algorithm,
      certificateValidityPeriod: durationOrNothing(cluster.certificateValidityMs),
      caCertificateValidityPeriod: durationOrNothing(cluster.caCertificateValidityMs),
    };
  }
  if (algorithm === 'RSA-3072' || algorithm === 'RSA-4096') {
    problems.add({
      field: 'kubernetes.cluster.encryptionAlgorithm',
      problem: `${algorithm} is not known to kubeadm ${target.configVersion}, which makes RSA-2048 or ECDSA-P256 keys`,
      remedy: `Use kubeadm 1.${kubeadmWith('v1beta4')} or newer, or choose another algorithm.`,
    });
  }
  for (const [name, asked, byDefault] of [
    ['certificateValidity', cluster.certificateValidityMs, DEFAULT_CERTIFICATE_VALIDITY_MS],
    ['caCertificateValidity', cluster.caCertificateValidityMs, DEFAULT_CA_CERTIFICATE_VALIDITY_MS],
  ] as const) {
    if (asked === undefined || asked === byDefault) continue;
    const field = `kubernetes.cluster.${name}`;
    problems.add({
      field,
      problem: `kubeadm ${target.configVersion} always makes certificates valid for ${byDefault / 86_400_000} days`,
      remedy: needsKubeadm(kubeadmWith('v1beta4'), field),
    });
  }
  return {};
}

function durationOrNothing(milliseconds: number | undefined): string | undefined {
  return milliseconds === undefined ? undefined : goDuration(milliseconds);
}

function component(model: ComponentModel, field: string, target: KubeadmTarget, problems: Problems): Fields {
  return {
    extraArgs: renderArguments(model.args, `${field}.args`, target, problems),
    extraEnvs: renderEnvironment(model.env, `${field}.env`, target, problems),
    extraVolumes: listOrNothing(
      model.volumes.map(({ name, hostPath, mountPath, readOnly, pathType }) =>
        omitUndefined({ name, hostPath, mountPath, readOnly: readOnly ? true : undefined, pathType }),
      ),
    ),
  };
}

function etcd(model: EtcdModel, target: KubeadmTarget, problems: Problems): Fields | undefined {
  if (model.kind === 'external') {
    const { endpoints, httpEndpoints, caFile, certFile, keyFile } = model;
    if (httpEndpoints.length > 0 && !has('etcdHTTPEndpoints', target.minor)) {
      const field = 'kubernetes.controlPlane.etcd.external.httpEndpoints';
      const problem = 'this kubeadm knows no endpoints of etcd apart from those of gRPC';
      problems.add({ field, problem, remedy: needsKubeadm(FEATURES.etcdHTTPEndpoints.since, field) });
    }
    const http = listOrNothing(httpEndpoints);
    return { external: omitUndefined({ endpoints: [...endpoints], httpEndpoints: http, caFile, certFile, keyFile }) };
  }
  const field = 'kubernetes.controlPlane.etcd.local';
  const local = omitEmpty({
    imageRepository: model.imageRepository,
    imageTag: model.imageTag,
    dataDir: model.dataDirectory,
    extraArgs: renderArguments(model.args, `${field}.args`, target, problems),
    extraEnvs: renderEnvironment(model.env, `${field}.env`, target, problems),
    serverCertSANs: listOrNothing(model.serverCertSANs),
    peerCertSANs: listOrNothing(model.peerCertSANs),
  });
  return local === undefined ? undefined : { local };
}
