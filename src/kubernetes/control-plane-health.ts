import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import {
  KUBEADM_PODS,
  type KubeadmPod,
  STATIC_PODS_DIRECTORY,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import { type ApiServerManifest, readManifest } from '@machineadm/kubeadm/api-server/manifest.ts';
import { askHealthEndpoint } from '../host/http/request-once.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { askReadyz } from './api-server/serving.ts';
import { listMembers } from './etcd-members.ts';
import { argumentOf, localEtcd, ownMember } from './local-etcd.ts';

/** A problem of a component of this machine's control plane. */
export interface ComponentTrouble {
  readonly component: KubeadmPod;
  readonly reason: Extract<
    Reason,
    'ControlPlaneComponentNotHealthy' | 'EtcdMemberNotStarted' | 'EtcdLearnerNotInSync' | 'EtcdMemberRemoved'
  >;
  /** One line: the observation. */
  readonly why: string;
}

/** k/k cmd/kube-controller-manager and cmd/kube-scheduler, ports.go. */
const DEFAULT_PORTS = { 'kube-controller-manager': 10_257, 'kube-scheduler': 10_259 } as const;

/** Phases of kubeadm without which a component has no manifest (k/k cmd/kubeadm/app/cmd/phases). */
const PHASES: Readonly<Record<'etcd' | 'kube-apiserver', readonly string[]>> = {
  etcd: ['etcd', 'etcd/local', 'control-plane-join', 'control-plane-join/etcd', 'etcd-join'],
  'kube-apiserver': [
    'control-plane',
    'control-plane/all',
    'control-plane/apiserver',
    'control-plane-prepare',
    'control-plane-prepare/all',
    'control-plane-prepare/control-plane',
  ],
};

/**
 * The components that this document's control plane must have. Controller manager and scheduler may run elsewhere: they
 * are checked only if their manifests exist.
 */
export function requiredComponents({ role, kubeadm, controlPlane }: KubernetesModel): readonly KubeadmPod[] {
  if (role === 'Worker') return [];
  const isMade = (component: keyof typeof PHASES): boolean =>
    !PHASES[component].some((phase) => kubeadm.skipPhases.includes(phase));
  const hasLocalEtcd = controlPlane.etcd.kind === 'local';
  return [
    ...(hasLocalEtcd && isMade('etcd') ? (['etcd'] as const) : []),
    ...(isMade('kube-apiserver') ? (['kube-apiserver'] as const) : []),
  ];
}

/**
 * Checks the health of each component with a manifest on disk, at the manifest's addresses and ports; etcd also for its
 * membership. Returns the first problem in the order of dependencies: it explains the others.
 *
 * @param required components that must have a manifest
 */
export async function probeControlPlane(
  host: QueryHost,
  required: readonly KubeadmPod[],
  signal?: AbortSignal,
): Promise<ComponentTrouble | undefined> {
  const found = await Promise.all(
    KUBEADM_PODS.map(async (component): Promise<ComponentTrouble | undefined> => {
      const path = `${STATIC_PODS_DIRECTORY}/${component}.yaml`;
      const source = await host.readText(path);
      if (source === undefined) {
        return required.includes(component) ? unhealthy(component, `${path} does not exist`) : undefined;
      }
      const manifest = await readManifest(source);
      return manifest === undefined
        ? unhealthy(component, `${path} is not a pod manifest`)
        : await PROBES[component](host, manifest, signal);
    }),
  );
  return found.find((trouble) => trouble !== undefined);
}

type Probe = (
  host: QueryHost,
  manifest: ApiServerManifest,
  signal: AbortSignal | undefined,
) => Promise<ComponentTrouble | undefined>;

const PROBES: Readonly<Record<KubeadmPod, Probe>> = {
  etcd: async (host, manifest, signal) =>
    (await etcdHealth(manifest, signal)) ?? (await membership(host, manifest, signal)),
  'kube-apiserver': async (host, manifest, signal) => {
    const endpoint = manifest.endpoint ?? apiServerEndpoint(manifest);
    const why = await askReadyz(host, endpoint, signal);
    return why === undefined ? undefined : unhealthy('kube-apiserver', why);
  },
  'kube-controller-manager': (_host, manifest, signal) => healthz('kube-controller-manager', manifest, signal),
  'kube-scheduler': (_host, manifest, signal) => healthz('kube-scheduler', manifest, signal),
};

/**
 * /healthz needs no credential by default (--authorization-always-allow-paths); a component that forbids it still
 * answers.
 */
async function healthz(
  component: keyof typeof DEFAULT_PORTS,
  { command }: ApiServerManifest,
  signal: AbortSignal | undefined,
): Promise<ComponentTrouble | undefined> {
  const port = argumentOf(command, 'secure-port') ?? `${DEFAULT_PORTS[component]}`;
  if (port === '0') return undefined;
  const url = `https://${local(argumentOf(command, 'bind-address') ?? '0.0.0.0')}:${port}/healthz`;
  const answer = await askHealthEndpoint(url, signal);
  if ('why' in answer) return unhealthy(component, answer.why);
  return [200, 401, 403].includes(answer.status) ? undefined : unhealthy(component, `${url} answered ${answer.status}`);
}

/** etcd's /health, on the plain metrics endpoint that kubeadm configures (k/k cmd/kubeadm/app/phases/etcd/local.go). */
async function etcdHealth(
  { command }: ApiServerManifest,
  signal: AbortSignal | undefined,
): Promise<ComponentTrouble | undefined> {
  const [metrics] = (argumentOf(command, 'listen-metrics-urls') ?? '').split(',');
  const base = URL.parse(metrics ?? '');
  // Without it only the membership can be queried, with a client certificate.
  if (base === null) return undefined;
  const url = `${base.protocol}//${local(base.hostname)}:${base.port}/health`;
  const answer = await askHealthEndpoint(url, signal);
  if ('why' in answer) return unhealthy('etcd', answer.why);
  if (answer.status === 200 && !/"health":\s*"?false/.test(answer.body)) return undefined;
  return unhealthy('etcd', `${url} answered ${answer.status} ${answer.body.slice(0, 200).trim()}`.trim());
}

/** Whether this machine's etcd is a started, voting member of its cluster. */
async function membership(
  host: QueryHost,
  { command }: ApiServerManifest,
  signal: AbortSignal | undefined,
): Promise<ComponentTrouble | undefined> {
  const etcd = await localEtcd(host, { command });
  if (etcd === undefined) return undefined;
  const members = await listMembers(etcd, signal);
  if (members === undefined)
    return unhealthy('etcd', `${etcd.endpoints.join(', ')} did not list the members of its cluster`);
  const own = ownMember(members, etcd);
  const { ownPeerUrl } = etcd;
  const trouble = (reason: ComponentTrouble['reason'], why: string): ComponentTrouble => ({
    component: 'etcd',
    reason,
    why,
  });
  if (own === undefined) return trouble('EtcdMemberRemoved', `etcd's cluster has no member ${ownPeerUrl}`);
  if (own.name === '')
    return trouble('EtcdMemberNotStarted', `etcd's cluster has not seen its member ${ownPeerUrl} start`);
  if (own.isLearner) return trouble('EtcdLearnerNotInSync', `etcd's member ${own.name} is a learner still`);
  return undefined;
}

function unhealthy(component: KubeadmPod, why: string): ComponentTrouble {
  return { component, reason: 'ControlPlaneComponentNotHealthy', why: `${component} is not healthy: ${why}` };
}

/** kubeadm annotates the pod with the endpoint since 1.18; a manifest from elsewhere may lack it. */
function apiServerEndpoint({ command }: ApiServerManifest): string {
  const bound = argumentOf(command, 'bind-address');
  const address =
    bound === undefined || isAny(bound) ? (argumentOf(command, 'advertise-address') ?? '127.0.0.1') : bound;
  return `${bracketed(address)}:${argumentOf(command, 'secure-port') ?? '6443'}`;
}

/** The address to query where a component listens on all addresses. */
function local(address: string): string {
  const bare = address.replace(/^\[|\]$/g, '');
  return bracketed(isAny(bare) ? (bare.includes(':') ? '::1' : '127.0.0.1') : bare);
}

function isAny(address: string): boolean {
  return address === '0.0.0.0' || address === '::' || address === '';
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}
