import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { evidenceFrom, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { NodeAddressesModel } from '@machineadm/document/sections/kubernetes/node-addresses.ts';
import { formatDuration } from '@machineadm/document/text/units.ts';
import { member, strings } from '@machineadm/document/values/untyped.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import {
  findNodeAddresses,
  kubeletAddresses,
  type NodeAddresses,
  withNodeAddresses,
} from '../../kubernetes/node-addresses.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change, RanRecord, UnmetRequirement } from '../../step/index.ts';

export interface NodeAddressesDesired {
  readonly choice: NodeAddressesModel;
  readonly kubernetes: KubernetesModel;
  /** Whether an earlier step configures the network. */
  readonly bringsNetwork: boolean;
}

export interface NodeAddressesActual {
  readonly found: NodeAddresses;
  /** The addresses that an earlier run found, or those of the kubelet of a node. */
  readonly kept: readonly string[];
  readonly isNode: boolean;
}

type Payload = NodeAddressesDesired & Pick<NodeAddressesActual, 'kept'>;

const FIELD = 'kubernetes.node.addresses';
const CHANGE = 'node-addresses';
const ASKED_EVERY_MS = 500;

/**
 * Finds the addresses of the node by the document's choice, and waits for them. Later steps get the document with the addresses
 * in it. What an earlier run found stays while the machine has it, and a machine that is a node keeps the addresses of its kubelet.
 */
export const nodeAddresses: FeatureStep<NodeAddressesDesired, NodeAddressesActual, Payload> = {
  id: 'node-addresses',
  section: 'kubernetes.node.addresses',
  isRequested: STAYS,

  desired({ kubernetes, host }) {
    const choice = kubernetes?.node.addresses;
    if (kubernetes === undefined || choice === undefined) return undefined;
    return { choice, kubernetes, bringsNetwork: host.network !== undefined };
  },

  async preflight(host, desired, record): Promise<readonly UnmetRequirement[]> {
    const { choice, bringsNetwork } = desired;
    const { found, kept, isNode } = await look(host, desired, record);
    const at = { field: FIELD, scope: 'node' } as const;
    if (isNode) {
      const what = whyOtherThan(kept, found);
      if (what === undefined) return [];
      const remedy =
        'Give the interface its former address, or replace the machine: the address of a node is not changed.';
      return [{ ...at, reason: 'NodeAddressMissing', what, remedy, severity: 'warning' }];
    }
    if (found.kind === 'found') return [];
    const { reason, message, remedy, evidence } = unusable(found, choice);
    const network = bringsNetwork ? ({ broughtBy: 'network' } as const) : {};
    if (found.kind === 'ambiguous') return [{ ...at, ...network, reason, what: message, remedy, evidence }];
    const waits = choice.timeoutMs > 0;
    const next = waits
      ? `; provision waits ${formatDuration(choice.timeoutMs)} for it, and then fails`
      : '; provision does not wait for it';
    const severity = waits ? ({ severity: 'warning' } as const) : {};
    return [{ ...at, ...network, reason, what: `${found.why} now (${FIELD})${next}`, remedy, evidence, ...severity }];
  },

  inspect: look,

  plan(desired, { found, kept, isNode }) {
    if (isNode || (found.kind === 'found' && isSameList(found.addresses, kept))) return [];
    const before = kept.length === 0 ? '' : `, and no longer ${kept.join(', ')}`;
    const wait = `find the addresses of the node (now: ${found.kind === 'found' ? '' : found.why}), waiting up to ${formatDuration(desired.choice.timeoutMs)}`;
    const change: Change<Payload> = {
      id: CHANGE,
      summary: found.kind === 'found' ? `use ${found.addresses.join(', ')} of ${found.where}${before}` : wait,
      action: 'run',
      scope: 'node',
      ineffective: 'NodeAddressMissing',
      payload: { ...desired, kept },
    };
    return [change];
  },

  async apply(host, { payload: { choice, kubernetes, kept } }, execution) {
    const until = performance.now() + choice.timeoutMs;
    for (;;) {
      const found = await findNodeAddresses(host, choice, kubernetes, kept);
      if (found.kind === 'found') {
        execution.waitingFor(undefined);
        return execution.remember({ addresses: found.addresses });
      }
      if (found.kind === 'ambiguous' || performance.now() >= until) throw unusable(found, choice);
      execution.waitingFor(`the addresses of the node: ${found.why}`);
      await delay(ASKED_EVERY_MS, undefined, { signal: execution.signal });
    }
  },

  async resolves(host, desired, model, record) {
    const { found, kept, isNode } = await look(host, desired, record);
    const addresses = isNode ? kept : found.kind === 'found' ? found.addresses : [];
    return addresses.length === 0 ? undefined : withNodeAddresses(model, addresses);
  },
};

async function look(
  host: QueryHost,
  { choice, kubernetes }: NodeAddressesDesired,
  record: RanRecord | undefined,
): Promise<NodeAddressesActual> {
  const isNode = record?.bootstrap === 'done';
  const kept = isNode ? await kubeletAddresses(host) : strings(member(record?.notes.get(CHANGE), 'addresses'));
  return { found: await findNodeAddresses(host, choice, kubernetes, kept), kept, isNode };
}

function isSameList(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((one, index) => one === right[index]);
}

/** Why the kubelet of a node does not run with what the document would choose now; undefined: it does. */
function whyOtherThan(used: readonly string[], found: NodeAddresses): string | undefined {
  const now =
    found.kind === 'found' ? `the machine has ${found.addresses.join(', ')} of ${found.where} for it` : found.why;
  const own = used.length === 0 ? 'has no node-ip' : `keeps the node-ip ${used.join(',')}`;
  const isKept = found.kind === 'found' && isSameList(found.addresses, used);
  return isKept ? undefined : `the kubelet of this node ${own}, although ${now} (${FIELD})`;
}

function unusable(
  found: Exclude<NodeAddresses, { kind: 'found' }>,
  { timeoutMs }: NodeAddressesModel,
): MachineadmError {
  const isMissing = found.kind === 'missing';
  return new MachineadmError({
    reason: isMissing ? 'NodeAddressMissing' : 'NodeAddressAmbiguous',
    summary: `${found.why} (${FIELD})${isMissing ? `, after ${formatDuration(timeoutMs)}` : ''}`,
    remedy: isMissing
      ? `Give the machine the address, correct ${FIELD}, or raise its timeout.`
      : `Add the subnet of the right one to ${FIELD}.subnets.`,
    evidence: evidenceFrom('addresses', found.evidence),
    retryable: isMissing,
  });
}
