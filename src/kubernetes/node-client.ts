import { member, text } from '@machineadm/document/values/untyped.ts';
import { type Answer, type ApiCredential, getObject } from '../host/cluster/api-server.ts';

/** The parts of a Node that show its identity and health. */
export interface NodeView {
  readonly name: string;
  /** metadata.uid: no other Node, of any cluster, has it. */
  readonly uid: string;
  readonly machineId: string;
  readonly bootId: string;
  /** Upper case. */
  readonly systemUuid: string;
  readonly providerId: string;
  /** The condition `Ready`; undefined before the kubelet first reports. */
  readonly ready: { readonly status: string; readonly reason: string; readonly message: string } | undefined;
  /** True once kubeadm's phase mark-control-plane labelled it. */
  readonly controlPlane: boolean;
  /** `v1.35.4`: of the kubelet that reported last. */
  readonly kubeletVersion: string;
  /** True where no new pods are scheduled to it. */
  readonly unschedulable: boolean;
}

/** GETs a Node by its name. Never throws but for `signal`. */
export async function getNode(
  credential: ApiCredential,
  name: string,
  signal?: AbortSignal,
  timeoutMs?: number,
): Promise<Answer<NodeView>> {
  const answer = await getObject(credential, `/api/v1/nodes/${encodeURIComponent(name)}`, signal, timeoutMs);
  return answer.kind === 'found' ? { kind: 'found', object: viewNode(answer.object) } : answer;
}

/** The parts of a Node as the API server has it. */
export function viewNode(object: unknown): NodeView {
  const info = member(member(object, 'status'), 'nodeInfo');
  const conditions = member(member(object, 'status'), 'conditions');
  const ready: unknown = Array.isArray(conditions)
    ? conditions.find((condition) => member(condition, 'type') === 'Ready')
    : undefined;
  const labels = member(member(object, 'metadata'), 'labels');
  return {
    name: text(member(member(object, 'metadata'), 'name')) ?? '',
    uid: text(member(member(object, 'metadata'), 'uid')) ?? '',
    machineId: text(member(info, 'machineID')) ?? '',
    bootId: text(member(info, 'bootID')) ?? '',
    systemUuid: (text(member(info, 'systemUUID')) ?? '').toUpperCase(),
    providerId: text(member(member(object, 'spec'), 'providerID')) ?? '',
    ready:
      ready === undefined
        ? undefined
        : {
            status: text(member(ready, 'status')) ?? '',
            reason: text(member(ready, 'reason')) ?? '',
            message: text(member(ready, 'message')) ?? '',
          },
    // kubeadm before 1.20 knew only the older label (k/k cmd/kubeadm/app/constants: LabelNodeRoleOldControlPlane).
    controlPlane:
      member(labels, 'node-role.kubernetes.io/control-plane') !== undefined ||
      member(labels, 'node-role.kubernetes.io/master') !== undefined,
    kubeletVersion: text(member(info, 'kubeletVersion')) ?? '',
    unschedulable: member(member(object, 'spec'), 'unschedulable') === true,
  };
}
