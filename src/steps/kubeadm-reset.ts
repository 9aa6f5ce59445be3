import type { KubernetesModel } from '../document/model.ts';
import { reportedIdentity } from '../host/facts.ts';
import { findLeftovers, type Leftovers, pathsOfReset } from '../kubernetes/kubeadm/leftovers.ts';
import { decideRecovery, type Recovery } from '../kubernetes/kubeadm/recovery.ts';
import { resetNode, resetOrder } from '../kubernetes/kubeadm/reset.ts';
import { expectedNodeName } from '../kubernetes/node-name.ts';
import { documentPaths } from '../kubernetes/provided.ts';
import type { Step } from './step.ts';

export interface KubeadmResetDesired {
  readonly kubernetes: KubernetesModel;
  readonly nodeName: string;
  readonly machineId: string;
  readonly systemUuid: string | undefined;
  /** Paths that the document itself writes. */
  readonly provided: ReadonlySet<string>;
}

export interface KubeadmResetActual {
  readonly leftovers: Leftovers;
  readonly recovery: Recovery;
}

export interface KubeadmResetPayload {
  readonly desired: KubeadmResetDesired;
  readonly offline: boolean;
  readonly leftovers: readonly string[];
}

const RESET = 'kubeadm-reset/reset';

/**
 * Cleans up after an attempt that was killed or failed, and after the machine that a disk was cloned from, so that
 * kubeadm starts from nothing. It comes before files, containerd and PKI, because a reset deletes what they write.
 * Whether to reset, to go on or to touch nothing is decided in `kubernetes/kubeadm/recovery.ts`.
 */
export const kubeadmReset: Step<KubeadmResetDesired, KubeadmResetActual, KubeadmResetPayload> = {
  id: 'kubeadm-reset',
  title: 'clean up after an earlier attempt',

  desired(model, facts) {
    const { kubernetes } = model;
    if (kubernetes === undefined || kubernetes.exec !== undefined) return undefined;
    const nodeName = expectedNodeName(kubernetes, model, facts);
    const { machineId, systemUuid } = reportedIdentity(facts);
    return { kubernetes, nodeName, machineId, systemUuid, provided: documentPaths(kubernetes, model.host.files) };
  },

  async inspect(host, desired, record) {
    const leftovers = await findLeftovers(host, desired.kubernetes, desired.provided);
    const { bootstrap, foreignLeftovers } = record;
    const { role } = desired.kubernetes;
    const { nodeName, machineId, systemUuid } = desired;
    const past = { role, bootstrap, foreignLeftovers, leftovers, nodeName, machineId, systemUuid };
    const recovery = await decideRecovery(host, past);
    // A reset deletes its files last but one: that they are gone does not prove that it came to its end.
    const unfinished = recovery === 'none' && bootstrap !== 'done' && record.interrupted.has(RESET);
    if (!unfinished) return { leftovers, recovery };
    return { leftovers, recovery: foreignLeftovers && bootstrap === 'none' ? 'reset-offline' : 'reset' };
  },

  plan(desired, { leftovers, recovery }) {
    if (recovery !== 'reset' && recovery !== 'reset-offline') return [];
    const offline = recovery === 'reset-offline';
    const paths = offline ? leftovers.traces : [...leftovers.traces, ...leftovers.certificates];
    const whose = offline ? 'the machine this disk was copied from' : 'an earlier attempt';
    return [
      {
        id: RESET,
        summary: `kubeadm reset: remove what ${whose} left (${abridged(paths)})`,
        scope: 'node',
        repeatable: false,
        // It deletes what hooks laid below /etc/kubernetes (kube-vip), so they run again, on a fresh configuration.
        undoes: ['kubeadm', 'kubeadm-config', 'hooks-before-bootstrap', 'api-server', 'readiness', 'sentinel'],
        removes: pathsOfReset(desired.kubernetes),
        payload: { desired, offline, leftovers: paths },
      },
    ];
  },

  async apply(host, { payload }, execution) {
    const { desired, offline, leftovers } = payload;
    // An init that is reset has not published its cluster, so nobody has joined it. With the only member of an etcd,
    // kubeadm would try for four minutes to take it out of itself (k/k cmd/kubeadm/app/util/etcd/etcd.go, RemoveMember).
    const isAlone = desired.kubernetes.role === 'InitControlPlane';
    await resetNode(
      host,
      { ...resetOrder(desired.kubernetes, desired.nodeName), offline: offline || isAlone, leftovers },
      {
        signal: execution.signal,
        line: (text) => execution.output('kubeadm', text),
        warn: (message) => execution.warn(message),
        waitingFor: (what) => execution.waitingFor(what),
      },
    );
  },
};

function abridged(paths: readonly string[]): string {
  if (paths.length === 0) return 'an interrupted reset is run again';
  const shown = paths.slice(0, 3).join(', ');
  return paths.length > 3 ? `${shown} and ${paths.length - 3} more` : shown;
}
