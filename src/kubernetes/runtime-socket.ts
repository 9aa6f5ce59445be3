import type { KubernetesModel, Model, NodeModel } from '@machineadm/document/model/index.ts';
import { DEFAULT_CRI_SOCKETS } from '@machineadm/document/ownership/paths.ts';
import { stringAt } from '@machineadm/document/values/untyped.ts';
import type { Facts } from '../host/seam/facts.ts';

/** The facts that decide which runtime a machine has. */
export type RuntimeFacts = Pick<Facts, 'platform' | 'runtimeSockets'>;

/** A document's `kubernetes` on a machine whose runtime is known. */
export interface LocatedKubernetes extends KubernetesModel {
  readonly node: NodeModel & { readonly criSocket: string };
}

/**
 * The CRI socket of a machine, as a URL: that of the document, of the containerd that it configures, or of the machine's
 * one runtime. Several runtimes are an obstacle of preflight (`ambiguousRuntime`).
 */
export function runtimeSocket(
  { containerd, kubernetes }: Pick<Model, 'containerd' | 'kubernetes'>,
  facts: RuntimeFacts,
): string {
  const address = stringAt(containerd?.settings, 'grpc', 'address');
  const [found] = containerd === undefined ? (facts.runtimeSockets ?? []) : [];
  return address ?? kubernetes?.node.criSocket ?? found ?? DEFAULT_CRI_SOCKETS[facts.platform];
}

/** The same document with the socket of this machine. */
export function located(
  kubernetes: KubernetesModel,
  model: Pick<Model, 'containerd'>,
  facts: RuntimeFacts,
): LocatedKubernetes {
  const { node } = kubernetes;
  const criSocket = node.criSocket ?? runtimeSocket({ ...model, kubernetes }, facts);
  return { ...kubernetes, node: { ...node, criSocket } };
}

/** The sockets between which neither the document nor the machine decides; undefined where it is clear. */
export function ambiguousRuntime(
  { containerd, kubernetes }: Pick<Model, 'containerd' | 'kubernetes'>,
  { runtimeSockets: found = [] }: RuntimeFacts,
): readonly string[] | undefined {
  const isNamed = containerd !== undefined || kubernetes?.node.criSocket !== undefined;
  return isNamed || found.length < 2 ? undefined : found;
}
