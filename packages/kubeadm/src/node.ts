import { FEATURES, has } from '@machineadm/document/kubernetes-releases/features.ts';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { omitUndefined } from '@machineadm/document/values/defined.ts';
import { kubeletArguments, renderArguments } from './arguments.ts';
import { type Fields, goDuration, listOrNothing } from './fields.ts';
import { needsKubeadm, type Problems } from './problems.ts';
import { type KubeadmTarget, kubeadmWith } from './version.ts';

/** `nodeRegistration` of InitConfiguration and JoinConfiguration. `name` undefined leaves kubeadm's default, the host name. */
export function nodeRegistration(
  kubernetes: KubernetesModel,
  name: string | undefined,
  target: KubeadmTarget,
  problems: Problems,
): Fields {
  const { node } = kubernetes;
  return omitUndefined({
    name,
    criSocket: node.criSocket,
    kubeletExtraArgs: renderArguments(
      kubeletArguments(node, problems),
      'kubernetes.node.kubelet.args',
      target,
      problems,
    ),
    // Absent, [] and a list mean three things: kubeadm's default for the role, none, these.
    taints: node.taints?.map(({ key, value, effect }) => omitUndefined({ key, value, effect })),
    ignorePreflightErrors: listOrNothing(ignoredErrors(kubernetes)),
    ...imagePull(kubernetes, target, problems),
  });
}

/** Older joins want an empty manifests directory (k/k cmd/kubeadm/app/preflight/checks.go, RunJoinNodeChecks). A name that a version does not check is no error. */
const MANIFESTS_CHECK = 'DirAvailable--etc-kubernetes-manifests';

function ignoredErrors({ kubeadm, controlPlane, role }: KubernetesModel): readonly string[] {
  const given = kubeadm.ignorePreflightErrors;
  if (role === 'InitControlPlane' || controlPlane.staticPods.length === 0) return given;
  const covered = given.some((name) => [MANIFESTS_CHECK.toLowerCase(), 'all'].includes(name.toLowerCase()));
  return covered ? given : [...given, MANIFESTS_CHECK];
}

/** By default, every version pulls missing images one after the other. */
function imagePull(kubernetes: KubernetesModel, target: KubeadmTarget, problems: Problems): Fields {
  const { imagePullPolicy, imagePullSerial } = kubernetes.node;
  if (target.configVersion === 'v1beta2' && imagePullPolicy !== undefined && imagePullPolicy !== 'IfNotPresent') {
    const field = 'kubernetes.node.imagePullPolicy';
    problems.add({
      field,
      problem: 'kubeadm v1beta2 always pulls what is not present',
      remedy: needsKubeadm(kubeadmWith('v1beta3'), field),
    });
  }
  if (target.configVersion !== 'v1beta4' && imagePullSerial === false) {
    const field = 'kubernetes.node.imagePullSerial';
    problems.add({
      field,
      problem: `kubeadm ${target.configVersion} always pulls images one after the other`,
      remedy: needsKubeadm(kubeadmWith('v1beta4'), field),
    });
  }
  return {
    imagePullPolicy: target.configVersion === 'v1beta2' ? undefined : imagePullPolicy,
    imagePullSerial: target.configVersion === 'v1beta4' ? imagePullSerial : undefined,
  };
}

/** Address and port of this machine's own API server; kubeadm takes the default route's address and 6443. */
export function localAPIEndpoint(kubernetes: KubernetesModel): Fields {
  const { advertiseAddress, bindPort } = kubernetes.controlPlane.apiEndpoint;
  return omitUndefined({ advertiseAddress, bindPort });
}

/**
 * `timeouts` of v1beta4. Before, kubeadm had two of them elsewhere: the control plane's in ClusterConfiguration (a join
 * takes it from the cluster) and discovery's beside `discovery`; the others were fixed.
 */
export function timeouts(kubernetes: KubernetesModel, target: KubeadmTarget, problems: Problems): Fields | undefined {
  const { controlPlaneMs, kubeletMs, apiMs, etcdMs, tlsBootstrapMs, discoveryMs } = kubernetes.timeouts;
  const joins = kubernetes.role !== 'InitControlPlane';
  const fixed = (name: string, milliseconds: number | undefined, applies: boolean): void => {
    if (milliseconds === undefined || !applies) return;
    const field = `kubernetes.timeouts.${name}`;
    problems.add({
      field,
      problem: 'this version of kubeadm has a fixed timeout there',
      remedy: needsKubeadm(name === 'etcd' ? FEATURES.etcdAPICallTimeout.since : kubeadmWith('v1beta4'), field),
    });
  };
  if (!has('etcdAPICallTimeout', target.minor)) fixed('etcd', etcdMs, kubernetes.role !== 'Worker');
  if (target.configVersion !== 'v1beta4') {
    fixed('kubelet', kubeletMs, true);
    fixed('api', apiMs, true);
    fixed('tlsBootstrap', tlsBootstrapMs, joins);
    return undefined;
  }
  const fields = {
    controlPlaneComponentHealthCheck: controlPlaneMs,
    kubeletHealthCheck: kubeletMs,
    kubernetesAPICall: apiMs,
    etcdAPICall: etcdMs,
    tlsBootstrap: tlsBootstrapMs,
    discovery: discoveryMs,
  };
  const given = Object.entries(fields).flatMap(([name, milliseconds]) =>
    milliseconds === undefined ? [] : [[name, goDuration(milliseconds)] as const],
  );
  return given.length === 0 ? undefined : Object.fromEntries(given);
}
