import { compareVersions, parseVersion } from '@machineadm/document/text/program-version.ts';
import * as z from 'zod';
import { CLUSTER_LABEL, type KubernetesObject } from '../cluster/objects.ts';
import { readObject } from '../cluster/related.ts';
import { Kept } from '../handover/kept.ts';
import { profileFor } from '../handover/profiles.ts';
import { secretValues } from '../provider/bootstrap-data.ts';
import { NotReady } from '../provider/not-ready.ts';
import { CONFIGS, clusterFacts, configOf, KIND, ownerState } from '../provider/objects.ts';
import { renderDocument, withProfile } from '../provider/render.ts';
import type { Workload } from '../provider/workload.ts';
import type { Workloads } from '../provider/workloads.ts';
import { reasonOf, type UpdateContext } from './can-update.ts';
import { launch, type Order, type Phase, progressOf, removeAll, removePod, UPDATE_LABEL } from './launch.ts';
import { cordon, drain, type NodeState, readNode, uncordon } from './node.ts';

/** Cluster API wrote it, on a Machine that it updates in place (api/core/v1beta2). Nothing is done to another one. */
const IN_PROGRESS = 'in-place-updates.internal.cluster.x-k8s.io/update-in-progress';
const EXCLUDES_DRAIN = 'machine.cluster.x-k8s.io/exclude-node-draining';
/** Nobody joins with it: the node has joined. */
const NO_TOKEN = 'update.0000000000000000';
const SOON_SECONDS = 5;
/** An attempt that failed is repeated, ever later: what was in the way may be gone, and each one may restart the kubelet. */
const REPEAT_MS = { first: 60_000, last: 1_800_000 } as const;
const LATER_SECONDS = 20;

/** What updates need, with the image whose pods start them. */
export type Updates = UpdateContext & { readonly workloads: Workloads; readonly image: string };

/** How far an update is. */
export type Update =
  | { readonly isDone: true }
  | { readonly isDone: false; readonly message: string; readonly retryAfterSeconds: number };

const waiting = (message: string, retryAfterSeconds = SOON_SECONDS): Update => ({
  isDone: false,
  message,
  retryAfterSeconds,
});

const Spec = z.looseObject({
  spec: z.looseObject({
    clusterName: z.string(),
    bootstrap: z.looseObject({ configRef: z.looseObject({ kind: z.string(), name: z.string() }).nullish() }),
  }),
  status: z.looseObject({ nodeRef: z.looseObject({ name: z.string() }).nullish() }).nullish(),
});

/**
 * Brings the node of a Machine one step nearer to what the Machine says, and tells where it is. Of the request only the name
 * is used: everything else is read from the management cluster, so that whoever calls can start nothing that Cluster API did
 * not. Every step may be repeated, by another replica too.
 */
export async function updateMachine(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  context: Updates,
  signal: AbortSignal,
): Promise<Update> {
  try {
    const machine = await readObject(context.api, context.versions, 'Machine', namespace, name, signal);
    if (machine?.metadata.annotations?.[IN_PROGRESS] === undefined) {
      return waiting('Cluster API updates no such Machine in place', LATER_SECONDS);
    }
    const { workload, order, version } = await orderFor(machine, context, signal);
    const node = await readNode(workload.api, order.node, signal);
    const drains = machine.metadata.annotations[EXCLUDES_DRAIN] === undefined;
    return await step(workload, order, node, version, drains, signal);
  } catch (error) {
    if (error instanceof NotReady || error instanceof Kept) {
      return waiting(`${reasonOf(error)}: ${error.message}`, LATER_SECONDS);
    }
    throw error;
  }
}

async function step(
  { api }: Workload,
  order: Order,
  node: NodeState,
  version: string,
  drains: boolean,
  signal: AbortSignal,
): Promise<Update> {
  if (!node.isLinux) return waiting(`node ${node.name} runs Windows: replace the Machine`, LATER_SECONDS);
  const run = await progressOf(api, order, 'Run', signal);
  const isUpgrade = !isVersion(node.kubeletVersion, version);
  if (run.kind === 'Succeeded') {
    if (isUpgrade) return waiting(`node ${node.name} still reports the version ${node.kubeletVersion}`);
    await uncordon(api, node, signal);
    await removeAll(api, order, signal);
    return { isDone: true };
  }
  if (run.kind !== 'Absent') return await told(api, order, 'Run', run, signal);
  // Without another version, no pod is disturbed, and nothing has to be known before.
  if (isUpgrade) {
    const check = await progressOf(api, order, 'Check', signal);
    if (check.kind === 'Absent') await launch(api, order, 'Check', signal);
    if (check.kind !== 'Succeeded') return await told(api, order, 'Check', check, signal);
    if (drains) {
      await cordon(api, node, signal);
      const left = await drain(api, node.name, UPDATE_LABEL, signal);
      if (left !== undefined) return waiting(left);
    }
  }
  await launch(api, order, 'Run', signal);
  return await told(api, order, 'Run', run, signal);
}

/** Whether a kubelet has the version of a Machine, however each is written. */
function isVersion(reported: string, wanted: string): boolean {
  const [has, version] = [parseVersion(reported), parseVersion(wanted)];
  return has === undefined || version === undefined ? reported === wanted : compareVersions(has, version) === 0;
}

/** What to say of a phase that has not ended well; one that failed is begun again after a while. */
async function told(
  api: Workload['api'],
  order: Order,
  phase: Phase,
  progress: Awaited<ReturnType<typeof progressOf>>,
  signal: AbortSignal,
): Promise<Update> {
  const what = phase === 'Check' ? 'machineadm checks whether anything is in the way' : 'machineadm upgrade runs';
  if (progress.kind === 'Failed') {
    const pauseMs = Math.min(REPEAT_MS.first * 2 ** (progress.attempts - 1), REPEAT_MS.last);
    if (Date.now() - progress.endedAt.getTime() > pauseMs) await removePod(api, order, phase, signal);
    const command = phase === 'Check' ? 'machineadm upgrade --dry-run' : 'machineadm upgrade';
    return waiting(`${command} on node ${order.node}: ${progress.detail}`, LATER_SECONDS);
  }
  const detail = progress.kind === 'Working' && progress.detail !== '' ? ` (${progress.detail})` : '';
  return waiting(`${what} on node ${order.node}${detail}`);
}

/** What the node is to become, and where. Throws `NotReady` and `Kept`. */
async function orderFor(
  machine: KubernetesObject,
  context: Updates,
  signal: AbortSignal,
): Promise<{ readonly workload: Workload; readonly order: Order; readonly version: string }> {
  const { api, versions, workloads, conversions, profiles, image } = context;
  const { name, namespace = '', labels } = machine.metadata;
  const { spec, status } = Spec.parse(machine);
  const { version } = ownerState(machine);
  const node = status?.nodeRef?.name ?? '';
  const config = spec.bootstrap.configRef ?? undefined;
  if (version === undefined) throw new NotReady('VersionMissing', `Machine ${name} has no version`);
  if (node === '' || config === undefined)
    throw new NotReady('DocumentInvalid', `Machine ${name} has no node or no bootstrap configuration`);
  const clusterName = labels?.[CLUSTER_LABEL] ?? spec.clusterName;
  const cluster = await readObject(api, versions, 'Cluster', namespace, clusterName, signal);
  if (cluster === undefined) throw new NotReady('WorkloadClusterUnreachable', `there is no Cluster ${clusterName}`);
  const workload = await workloads.of(namespace, clusterName, signal);
  const merge = { translatorVersion: context.version };
  if (config.kind === KIND) {
    const path = `${CONFIGS}/namespaces/${namespace}/machineadmconfigs/${encodeURIComponent(config.name)}`;
    const native = configOf(await api.request({ path, signal }));
    const { profile } = profileFor([withProfile(native), machine, cluster], await profiles());
    const document = renderDocument(native, {
      version,
      endpoint: clusterFacts(cluster).endpoint ?? '',
      caCertHashes: workload.caCertHashes,
      token: NO_TOKEN,
      secrets: await secretValues(api, native, signal),
      cluster: clusterName,
      name,
      uid: machine.metadata.uid,
    });
    const text = await conversions.mergedText(
      namespace,
      signal,
      { yaml: JSON.stringify(document) },
      { ...merge, profile },
    );
    return { workload, version, order: { node, documents: [text], isOnTop: false, image } };
  }
  const kubeadm = await readObject(api, versions, 'KubeadmConfig', namespace, config.name, signal);
  const { profile } = profileFor([machine, kubeadm, cluster], await profiles());
  // The node has its document. That of the profile may have been changed since, and brings the programs.
  const documents = [{ kubernetes: { version } }, ...(profile.documents ?? [])].map((one) =>
    JSON.stringify({ apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap', ...one }),
  );
  return { workload, version, order: { node, documents, isOnTop: true, image } };
}
