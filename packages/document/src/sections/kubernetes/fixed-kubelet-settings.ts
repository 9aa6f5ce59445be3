/** Fields that cannot change while the node works, and why. */
const FIXED_FIELDS: Readonly<Record<string, string>> = {
  cgroupDriver: 'it must be that of the container runtime, whose pods run with it',
  cgroupRoot: 'pods run below it',
  cgroupsPerQOS: 'pods run in these cgroups',
  containerRuntimeEndpoint: 'it is the runtime whose pods run',
  cpuManagerPolicy: 'the kubelet does not start with the state of the previous policy',
  memoryManagerPolicy: 'the kubelet does not start with the state of the previous policy',
  podLogsDir: 'the logs of pods are there',
  port: 'the API server and its firewall rules use it',
  providerID: 'the Node keeps that with which it was registered',
  rotateCertificates: 'the kubelet would lose its client certificate when that expires',
  staticPodPath: 'the static pods of the control plane are there',
};

/** The same for arguments. */
const FIXED_ARGUMENTS: Readonly<Record<string, string>> = {
  'bootstrap-kubeconfig': 'the node has joined with it',
  'cert-dir': 'the certificates of the node are there',
  'cgroup-driver': 'it must be that of the container runtime, whose pods run with it',
  'cloud-provider': 'the Node was registered with it',
  config: 'kubeadm writes the configuration there',
  'container-runtime': 'it is the runtime whose pods run',
  'container-runtime-endpoint': 'it is the runtime whose pods run',
  'hostname-override': 'it is the name of the Node',
  kubeconfig: 'the credential of the node is there',
  'node-ip': 'the Node and etcd use this address',
  'node-labels': 'the kubelet sets labels only when it registers: use kubectl label',
  'pod-manifest-path': 'the static pods of the control plane are there',
  'provider-id': 'the Node keeps that with which it was registered',
  'register-with-taints': 'the kubelet sets taints only when it registers: use kubectl taint',
  'root-dir': 'the volumes of pods are there',
};

/** Why a setting of the kubelet cannot change on a running node; undefined: it can. */
export function whyFixed({
  kind,
  name,
}: {
  readonly kind: 'field' | 'argument';
  readonly name: string;
}): string | undefined {
  const reasons = kind === 'field' ? FIXED_FIELDS : FIXED_ARGUMENTS;
  return Object.hasOwn(reasons, name) ? reasons[name] : undefined;
}
