import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { hasEffects } from '@machineadm/document/secrets/secret.ts';
import { placeOf } from '@machineadm/document/trees/tree.ts';
import { EXAMPLE_ENDPOINT } from '@machineadm/document/versions/example.ts';
import type { MachineState } from '@machineadm/status/status.ts';
import { checkCertificates } from '../../diagnosis/checks/certificates.ts';
import { checkClusterInfo } from '../../diagnosis/checks/cluster-info.ts';
import { checkControlPlane, sharedEndpoint } from '../../diagnosis/checks/control-plane.ts';
import { checkEndpoint, parseEndpoint } from '../../diagnosis/checks/endpoint.ts';
import type { Finding, runCheckGroups } from '../../diagnosis/checks/finding.ts';
import { checkCapacity, checkCgroups, checkDisks, checkSwap, checkTimeSource } from '../../diagnosis/checks/machine.ts';
import { checkHostname, checkRouting } from '../../diagnosis/checks/network.ts';
import { checkPorts } from '../../diagnosis/checks/ports.ts';
import { checkRuntime } from '../../diagnosis/checks/runtime.ts';
import { checkStateAtRest } from '../../diagnosis/checks/state-at-rest.ts';
import { socketOfMachine } from '../../host/linux/runtime-sockets.ts';
import type { Facts } from '../../host/seam/facts.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { findNodeAddresses, kubeletAddresses } from '../../kubernetes/node-addresses.ts';
import { runtimeSocket } from '../../kubernetes/runtime-socket.ts';
import type { OpenedDocument } from '../../pipeline/load.ts';
import { knownOf } from '../../pipeline/plan.ts';
import { findingsOf, refusalFinding, requirements } from '../../pipeline/preflight.ts';

const LIMIT_MS = 15_000;
/** RFC 1123. */
const LONGEST_HOST_NAME = 253;

/** All checks of a machine, by name. `state`: what the machine is, which decides what it needs where there is no document. */
export function machineCheckGroups(
  host: QueryHost,
  facts: Facts,
  document: OpenedDocument | undefined,
  state: MachineState | undefined,
  now: () => number = Date.now,
): Parameters<typeof runCheckGroups>[0] {
  const model = document?.model;
  const kubernetes = model?.kubernetes;
  // A document that only prepares a host needs neither a container runtime nor a node's ports.
  const isHostOnly = model === undefined && state === 'host only';
  const isNode = model === undefined ? !isHostOnly : kubernetes !== undefined;
  const hasRuntime = isNode || model?.containerd !== undefined || (model?.images.required.length ?? 0) > 0;
  const isControlPlane = kubernetes !== undefined && kubernetes.role !== 'Worker';
  const use = isControlPlane ? 'controlPlane' : isNode ? 'worker' : 'host';
  const endpoint = parseEndpoint(kubernetes?.join?.discovery.endpoint ?? '');
  const bindPort = kubernetes?.controlPlane?.apiEndpoint?.bindPort ?? 6443;
  return {
    document: async () => (document === undefined ? [] : await documentChecks(host, facts, document)),
    placeholders: async () => (document === undefined ? [] : placeholderChecks(document)),
    // Without a document it may be a control plane.
    disks: () => checkDisks(host, model === undefined && isNode ? 'controlPlane' : use),
    capacity: () => checkCapacity(host, use),
    swap: async () => (isHostOnly ? [] : await checkSwap(host, model?.host.swap === 'Disabled')),
    cgroups: () => checkCgroups(host, facts.kubelet, kubernetes !== undefined),
    hostname: () =>
      checkHostname(
        host,
        model?.host.hostname ?? facts.hostname,
        model?.host.hostname !== undefined,
        isNode && kubernetes?.node.name === undefined ? undefined : LONGEST_HOST_NAME,
      ),
    routing: async () => (isHostOnly ? [] : await checkRouting(host, saysAddress(kubernetes))),
    'node addresses': async () => await checkNodeAddresses(host, kubernetes),
    time: () => checkTimeSource(host),
    ports: async () => (isNode ? await checkPorts(host, isControlPlane, bindPort) : []),
    runtime: async () =>
      !hasRuntime
        ? []
        : await checkRuntime(
            host,
            model === undefined ? await socketOfMachine(host, 'linux') : runtimeSocket(model, facts),
            model?.images.required ?? [],
            model?.containerd !== undefined,
            facts.kubelet,
          ),
    certificates: () => checkCertificates(host, now()),
    'control plane': () => checkControlPlane(host),
    'state at rest': () => checkStateAtRest(host),
    endpoint: async () => {
      const shared = endpoint ?? (await sharedEndpoint(host));
      if (shared === undefined) return [];
      const way = await checkEndpoint(host, shared, now);
      const answers = !way.some(({ severity }) => severity === 'failed');
      return answers ? [...way, ...(await checkJoin(host, kubernetes))] : way;
    },
  };
}

/** Whether the cluster will accept the token of the document. On a node it is spent. */
async function checkJoin(host: QueryHost, kubernetes: KubernetesModel | undefined): Promise<readonly Finding[]> {
  const discovery = kubernetes?.join?.discovery;
  if (discovery === undefined || !('token' in discovery)) return [];
  if ((await host.stat('/etc/kubernetes/kubelet.conf')) !== undefined) return [];
  const { endpoint, caCertHashes, token: source } = discovery;
  const token = hasEffects(source.source) ? undefined : await host.secret(source).catch(() => undefined);
  return await checkClusterInfo({ endpoint, caCertHashes, token }, AbortSignal.timeout(LIMIT_MS));
}

/** Whether the document says which address the node has: that the machine has it, is a requirement of the document. */
function saysAddress(kubernetes: KubernetesModel | undefined): boolean {
  return (kubernetes?.node.addresses ?? kubernetes?.controlPlane.apiEndpoint.advertiseAddress) !== undefined;
}

/** The addresses that a run would select now. If it would select none, the requirements of the document say why. */
async function checkNodeAddresses(
  host: QueryHost,
  kubernetes: KubernetesModel | undefined,
): Promise<readonly Finding[]> {
  const choice = kubernetes?.node.addresses;
  if (kubernetes === undefined || choice === undefined) return [];
  const used = await kubeletAddresses(host);
  const found = await findNodeAddresses(host, choice, kubernetes, used);
  if (found.kind !== 'found' || (used.length > 0 && used.join() !== found.addresses.join())) return [];
  const text = `kubernetes.node.addresses selects ${found.addresses.join(', ')} of ${found.where}`;
  return [{ id: 'document/node-addresses', title: 'document', severity: 'passed', text }];
}

async function documentChecks(host: QueryHost, facts: Facts, document: OpenedDocument): Promise<readonly Finding[]> {
  const refused = document.refusals.map(refusalFinding);
  let found: readonly Finding[];
  try {
    const { steps, asked } = await knownOf(document, 'all', host, facts);
    found = findingsOf(await requirements(steps, asked));
  } catch (error) {
    // The run's other refusals: a document for another platform, or another document than that of this node.
    if (!(error instanceof MachineadmError)) throw error;
    found = [refusalFinding(error)];
  }
  const all = [...refused, ...found];
  if (all.some(({ severity }) => severity === 'failed' || severity === 'warning')) return all;
  const text = 'all requirements of the steps are met';
  return [{ id: 'document', title: 'document', severity: 'passed', text }, ...all];
}

/** The placeholder of `machineadm example`, which users must replace. */
function placeholderChecks({ model, tree }: OpenedDocument): readonly Finding[] {
  const { cluster, join } = model.kubernetes ?? {};
  const fields = [
    ['kubernetes.cluster.controlPlaneEndpoint', cluster?.controlPlaneEndpoint],
    ['kubernetes.join.discovery.token.endpoint', join?.discovery.endpoint],
  ] as const;
  return fields.flatMap(([field, endpoint]): readonly Finding[] => {
    if (endpoint?.replace(/^https?:\/\//, '') !== EXAMPLE_ENDPOINT) return [];
    const text = `${field} is ${EXAMPLE_ENDPOINT}, the placeholder of machineadm example`;
    const remedy = `Set ${field} to the address of your API server, unless it is this one.`;
    return [
      {
        id: `document/placeholder/${field}`,
        title: 'document',
        severity: 'warning',
        text,
        remedy,
        field,
        position: placeOf(tree, field.split('.')),
      },
    ];
  });
}
