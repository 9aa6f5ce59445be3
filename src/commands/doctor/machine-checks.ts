import { omitUndefined } from '@machineadm/document/defined.ts';
import { MachineadmError } from '@machineadm/document/errors.ts';
import type { KubernetesModel } from '@machineadm/document/model.ts';
import { redactDeep } from '@machineadm/document/redaction.ts';
import { hasEffects } from '@machineadm/document/secret.ts';
import type { Verdict } from '@machineadm/failures/verdict.ts';
import type { MachineState, RunStatus } from '@machineadm/status/status.ts';
import { MACHINE_SENTENCES } from '@machineadm/status/this-machine.ts';
import { checkCertificates } from '../../diagnosis/checks/certificates.ts';
import { checkClusterInfo } from '../../diagnosis/checks/cluster-info.ts';
import { checkControlPlane, sharedEndpoint } from '../../diagnosis/checks/control-plane.ts';
import { checkEndpoint, parseEndpoint } from '../../diagnosis/checks/endpoint.ts';
import { type Finding, runCheckGroups } from '../../diagnosis/checks/finding.ts';
import { checkKubelet } from '../../diagnosis/checks/kubelet.ts';
import { checkCapacity, checkCgroups, checkDisks, checkSwap, checkTimeSource } from '../../diagnosis/checks/machine.ts';
import { checkHostname, checkRouting } from '../../diagnosis/checks/network.ts';
import { checkPorts } from '../../diagnosis/checks/ports.ts';
import { checkRuntime } from '../../diagnosis/checks/runtime.ts';
import { checkStateAtRest } from '../../diagnosis/checks/state-at-rest.ts';
import { instanceDataPaths } from '../../host/cloud/instance-data.ts';
import { gatherFacts, openQueryHost, requireLinux } from '../../host/index.ts';
import { type Hardware, hardwareOf } from '../../host/linux/hardware.ts';
import { socketOfMachine } from '../../host/linux/runtime-sockets.ts';
import type { Facts } from '../../host/seam/facts.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { findNodeAddresses, kubeletAddresses } from '../../kubernetes/node-addresses.ts';
import { probeNodeWithin } from '../../kubernetes/node-health.ts';
import type { NodeReadiness } from '../../kubernetes/readiness.ts';
import { runtimeSocket } from '../../kubernetes/runtime-socket.ts';
import { type OpenedDocument, openDocument } from '../../pipeline/load.ts';
import { stateOf } from '../../pipeline/machine-state.ts';
import { knownOf } from '../../pipeline/plan.ts';
import { findingsOf, refusalFinding, refuseUnlessRoot, requirements } from '../../pipeline/preflight.ts';
import { readStatus } from '../../reporting/status-file.ts';
import { isProvenNode, verdictOnMachine } from '../diagnose/machine.ts';
import { placeholderChecks } from './placeholders.ts';

const LIMIT_MS = 15_000;
/** RFC 1123. */
const LONGEST_HOST_NAME = 253;

export interface DoctorReport {
  /** undefined: the journal is damaged. */
  readonly machineState?: MachineState;
  /** On a node, or after a failed run: the verdict of `diagnose`. */
  readonly verdict?: Verdict;
  readonly findings: readonly Finding[];
  readonly failed: number;
  readonly warnings: number;
}

/**
 * Checks whether a bootstrap could succeed on this machine: the requirements of the document's steps, kubeadm's checks,
 * and the connection to the API server. On a bootstrapped machine: whether the node works; after a failed run: its
 * verdict. Uses a read-only host. Without a document only the machine is checked, as a worker. Throws `DocumentInvalid`
 * and `NotPrivilegedUser`.
 */
export async function examine(sources: readonly string[], agentVersion: string): Promise<DoctorReport> {
  requireLinux('machineadm doctor');
  const host = openQueryHost();
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  const document =
    sources.length === 0
      ? undefined
      : await openDocument(sources, agentVersion, { forThisMachine: true, distrust: 'collect' });
  const status = await readStatus().catch(() => undefined);
  const known = await stateOf(host, facts);
  let verdict: Verdict | undefined;
  let state = known;
  const checks = await runCheckGroups(
    {
      node: async () => {
        verdict = await verdictOnMachine(host, facts, status);
        const isProbed = status?.failure === undefined && (await isProvenNode(host, facts, status));
        const works = isProbed ? verdict?.outcome === 'success' : undefined;
        if (known === 'node' && works === false) state = 'broken node';
        return nodeChecks(verdict, status, state, isProbed);
      },
      ...nodeCheckGroups(host, facts),
      ...machineCheckGroups(host, facts, document, known),
    },
    LIMIT_MS,
  );
  return report(checks, verdict, state);
}

export interface Inventory {
  readonly facts: Facts;
  readonly hardware: Hardware;
  /** The variables that a document can use on this machine; names only, because values may be secret. */
  readonly variables: { readonly instanceData: readonly string[] };
}

/** The facts and the hardware of this machine, without checks or a document. */
export async function inventory(): Promise<Inventory> {
  requireLinux('machineadm facts');
  const host = openQueryHost();
  const [facts, hardware, instanceData] = await Promise.all([
    gatherFacts(host),
    hardwareOf(host),
    instanceDataPaths().catch(() => []),
  ]);
  return redactDeep({ facts, hardware, variables: { instanceData } });
}

/** Whether a node's kubelet runs, and whether its Node is Ready. */
export function nodeCheckGroups(host: QueryHost, facts: Facts): Parameters<typeof runCheckGroups>[0] {
  const onNode = (look: () => Promise<readonly Finding[]>) => async () =>
    (await host.stat('/etc/kubernetes/kubelet.conf')) === undefined ? [] : await look();
  return {
    kubelet: onNode(() => checkKubelet(host, Date.now())),
    'node ready': onNode(async () => readyCheck(await probeNodeWithin(host, facts, 'NodeReady', LIMIT_MS - 1_000))),
  };
}

/**
 * Other problems of the node are in the verdict. Without a pod network a Node is not Ready, although nothing is broken.
 */
function readyCheck(readiness: NodeReadiness): readonly Finding[] {
  const base = { id: 'node/ready', title: 'node' } as const;
  if (readiness.ready) return [{ ...base, severity: 'passed', text: 'the Node of this machine is Ready' }];
  const { reason, why } = readiness;
  if (reason !== 'NodeNotReady') return [];
  const severity = /network plugin|\bcni\b/i.test(why) ? 'warning' : 'failed';
  const remedy = 'Read the condition of the Node: `kubectl describe node`; without a pod network, install one.';
  return [{ ...base, severity, reason, text: why, remedy }];
}

/**
 * The verdict on a node, or on the failed run.
 *
 * @param isProbed whether the verdict is on a node that was probed now
 */
export function nodeChecks(
  verdict: Verdict | undefined,
  status: RunStatus | undefined,
  state: MachineState | undefined,
  isProbed: boolean,
): readonly Finding[] {
  if (verdict === undefined) return [];
  const base = { id: 'node', title: 'node' } as const;
  const { outcome, reason, summary, remedy, retryable } = verdict;
  const known = state === undefined ? 'this machine has a damaged journal' : MACHINE_SENTENCES[state];
  const isOurs = state !== 'never touched';
  if (outcome === 'success') {
    const text = isProbed
      ? `${isOurs ? known : 'this machine is a node that machineadm did not create'}, and it works`
      : `${known}; the last run succeeded`;
    return [{ ...base, severity: 'passed', text }];
  }
  const why = status?.failure !== undefined ? 'the last run failed' : state === 'broken node' ? known : undefined;
  const later = retryable ? 'The same command may succeed later.' : 'The same command will fail again.';
  return [
    {
      ...base,
      severity: 'failed',
      text: why === undefined ? summary : `${why}: ${summary}`,
      ...(reason === 'Unknown' || reason === '' ? {} : { reason }),
      remedy: `${remedy} ${later}`,
    },
  ];
}

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

function report(
  found: readonly Finding[],
  verdict: Verdict | undefined,
  machineState: MachineState | undefined,
): DoctorReport {
  // A missing requirement of the document is reported with its place: the same finding about the machine is left out.
  const missing = found.flatMap(({ title, severity, reason }) =>
    title === 'document' && severity === 'failed' && reason !== undefined ? [reason] : [],
  );
  const findings = found.filter(
    ({ title, reason }) => title === 'document' || reason === undefined || !missing.includes(reason),
  );
  return redactDeep({
    ...omitUndefined({ machineState, verdict }),
    findings,
    failed: findings.filter(({ severity }) => severity === 'failed').length,
    warnings: findings.filter(({ severity }) => severity === 'warning').length,
  });
}

/** A finding in the format that reports of `doctor` have had since their first version. */
export interface Check extends Pick<Finding, 'id' | 'text' | 'reason' | 'remedy'> {
  readonly group: string;
  readonly state: 'ok' | 'warning' | 'failed' | 'skipped';
}

export function checkOf({ id, title: group, severity, text, reason, remedy }: Finding): Check {
  const state = severity === 'passed' ? 'ok' : severity === 'undecided' ? 'skipped' : severity;
  return {
    id,
    group,
    state,
    text,
    ...omitUndefined({ reason, remedy }),
  };
}
