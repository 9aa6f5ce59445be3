import { checkCertificates } from '../diagnosis/checks/certificates.ts';
import { type Check, lookAround } from '../diagnosis/checks/check.ts';
import { checkControlPlane } from '../diagnosis/checks/control-plane.ts';
import { checkEndpoint, parseEndpoint } from '../diagnosis/checks/endpoint.ts';
import { checkCapacity, checkCgroups, checkDisks, checkSwap, checkTimeSource } from '../diagnosis/checks/machine.ts';
import { checkHostname, checkRouting } from '../diagnosis/checks/network.ts';
import { checkPorts } from '../diagnosis/checks/ports.ts';
import { checkRuntime } from '../diagnosis/checks/runtime.ts';
import type { Model } from '../document/model.ts';
import { redactDeep } from '../document/secret.ts';
import type { Facts } from '../host/facts.ts';
import type { QueryHost } from '../host/host.ts';
import { gatherFacts, openQueryHost, requireLinux } from '../host/index.ts';
import { openDocument } from './load.ts';
import { stepsFor } from './pipeline.ts';
import { findMissing, refuseUnlessRoot } from './preflight.ts';

const LIMIT_MS = 15_000;
const DEFAULT_SOCKET = 'unix:///run/containerd/containerd.sock';

export interface DoctorReport {
  readonly checks: readonly Check[];
  readonly failed: number;
  readonly warnings: number;
}

/**
 * Looks whether a bootstrap would stand a chance on this machine: what the steps of the document will need, what kubeadm
 * checks, and the way to the API server. Changes nothing: it is handed a host that can only be asked. Without a
 * document the machine alone is looked at, as a worker. Throws `DocumentInvalid` and `NotPrivilegedUser`.
 */
export async function examine(sources: readonly string[], agentVersion: string): Promise<DoctorReport> {
  requireLinux('machineadm doctor');
  const host = openQueryHost();
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  const model = sources.length === 0 ? undefined : (await openDocument(sources, agentVersion)).model;
  return report(await lookAround(looksAt(host, facts, model), LIMIT_MS));
}

/** Every look that is taken at a machine, by name. */
export function looksAt(
  host: QueryHost,
  facts: Facts,
  model: Model | undefined,
  now: () => number = Date.now,
): Parameters<typeof lookAround>[0] {
  const kubernetes = model?.kubernetes;
  const isControlPlane = kubernetes !== undefined && kubernetes.role !== 'Worker';
  const endpoint = parseEndpoint(kubernetes?.join?.discovery.endpoint ?? '');
  const bindPort = kubernetes?.controlPlane?.apiEndpoint?.bindPort ?? 6443;
  return {
    document: async () => (model === undefined ? [] : await documentChecks(host, facts, model)),
    disks: () => checkDisks(host),
    capacity: () => checkCapacity(host, isControlPlane),
    swap: () => checkSwap(host, model?.host.swap === 'Disabled'),
    cgroups: () => checkCgroups(host, facts.kubelet?.minor),
    hostname: () => checkHostname(host, model?.host.hostname ?? facts.hostname, model?.host.hostname !== undefined),
    routing: () => checkRouting(host, kubernetes?.controlPlane?.apiEndpoint?.advertiseAddress),
    time: () => checkTimeSource(host),
    ports: () => checkPorts(host, isControlPlane, bindPort),
    runtime: () =>
      checkRuntime(
        host,
        kubernetes?.node.criSocket ?? DEFAULT_SOCKET,
        model?.images.required ?? [],
        model?.containerd !== undefined,
      ),
    certificates: () => checkCertificates(host, now()),
    'control plane': () => checkControlPlane(host),
    endpoint: async () => (endpoint === undefined ? [] : await checkEndpoint(host, endpoint, now)),
  };
}

async function documentChecks(host: QueryHost, facts: Facts, model: Model): Promise<readonly Check[]> {
  const missing = await findMissing(stepsFor('all', model.host.platform), host, model, facts, 'all');
  if (missing.length === 0) {
    return [{ id: 'document', group: 'document', state: 'ok', text: 'everything that the steps need is here' }];
  }
  return missing.map(({ reason, what, remedy }) => ({
    id: `document/${reason}`,
    group: 'document',
    state: 'failed',
    reason,
    text: what,
    remedy,
  }));
}

function report(checks: readonly Check[]): DoctorReport {
  return redactDeep({
    checks,
    failed: checks.filter(({ state }) => state === 'failed').length,
    warnings: checks.filter(({ state }) => state === 'warning').length,
  });
}
