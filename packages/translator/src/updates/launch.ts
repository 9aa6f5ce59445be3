import { createHash } from 'node:crypto';
import { stripVTControlCharacters } from 'node:util';
import { MACHINE_DOCUMENT } from '@machineadm/document/ownership/paths.ts';
import * as z from 'zod';
import { isStatus } from '../cluster/api.ts';
import type { WorkloadApi } from '../provider/workload-api.ts';
import { inWorkload } from '../provider/workloads.ts';

/** On the pods and the Secret of an update. */
export const UPDATE_LABEL = 'machineadm.dev/update';
/** On a pod: the digest of what it is to do. */
const DIGEST = 'machineadm.dev/update-digest';
/** On the Secret: how often pods were made for its order. */
const ATTEMPTS = 'machineadm.dev/update-attempts';
const NAMESPACE = '/api/v1/namespaces/kube-system';
const fileOf = (index: number): string => `document-${index + 1}.yaml`;

/** What the node is to become. */
export interface Order {
  readonly node: string;
  /** YAML, merged in this order. */
  readonly documents: readonly string[];
  /** They are merged into the document that the node has. */
  readonly isOnTop: boolean;
  /** Container image with `chroot`. */
  readonly image: string;
}

/** `Check`: whether anything is in the way; nothing is changed. */
export type Phase = 'Check' | 'Run';

/** What became of a pod. */
export type Progress =
  | { readonly kind: 'Absent' }
  /** For another order, or to be repeated: it is removed. */
  | { readonly kind: 'Leaving' }
  | { readonly kind: 'Working'; readonly detail: string }
  | { readonly kind: 'Succeeded' }
  /** `attempts`: that were made of this order, with this one. */
  | { readonly kind: 'Failed'; readonly detail: string; readonly endedAt: Date; readonly attempts: number };

const Pod = z.looseObject({
  metadata: z.looseObject({
    annotations: z.record(z.string(), z.string()).nullish(),
    deletionTimestamp: z.string().nullish(),
  }),
  status: z
    .looseObject({
      phase: z.string().default(''),
      reason: z.string().nullish(),
      message: z.string().nullish(),
      containerStatuses: z
        .array(
          z.looseObject({
            state: z
              .looseObject({
                waiting: z.looseObject({ reason: z.string().nullish(), message: z.string().nullish() }).nullish(),
                terminated: z
                  .looseObject({
                    exitCode: z.number(),
                    message: z.string().nullish(),
                    finishedAt: z.string().nullish(),
                  })
                  .nullish(),
              })
              .default({}),
          }),
        )
        .nullish(),
    })
    .default({ phase: '' }),
});

/** The pod of a phase. Throws `NotReady`. */
export async function progressOf(api: WorkloadApi, order: Order, phase: Phase, signal: AbortSignal): Promise<Progress> {
  const found = await unlessAbsent(async () => Pod.parse(await api.request({ path: podPath(order, phase), signal })));
  if (found === undefined) return { kind: 'Absent' };
  const { metadata, status } = found;
  if ((metadata.deletionTimestamp ?? undefined) !== undefined) return { kind: 'Leaving' };
  const { terminated, waiting } = status.containerStatuses?.[0]?.state ?? {};
  const isOver = status.phase === 'Succeeded' || status.phase === 'Failed';
  // What runs on the node is never ended: it ends by itself, and the next pod begins with what it left.
  // A pod that is pending has begun nothing: an image that cannot be pulled must not keep its correction out.
  if (metadata.annotations?.[DIGEST] !== digestOf(order) && (isOver || status.phase === 'Pending')) {
    await remove(api, podPath(order, phase), signal);
    return { kind: 'Leaving' };
  }
  if (status.phase === 'Succeeded') return { kind: 'Succeeded' };
  if (status.phase === 'Failed') {
    const said = lastWords(terminated?.message ?? status.message ?? status.reason ?? '');
    const detail = said === '' ? `exit code ${terminated?.exitCode ?? 'unknown'}` : said;
    const attempts = await attemptsOf(api, order, signal);
    return { kind: 'Failed', detail, endedAt: new Date(terminated?.finishedAt ?? Date.now()), attempts };
  }
  const why = waiting?.reason ?? undefined;
  return { kind: 'Working', detail: why === undefined ? '' : lastWords(`${why} ${waiting?.message ?? ''}`) };
}

/** Stores the order on the workload cluster, and a pod that carries it out on the node. Throws `NotReady`. */
export async function launch(api: WorkloadApi, order: Order, phase: Phase, signal: AbortSignal): Promise<void> {
  const name = nameFor(order.node);
  const secret = {
    metadata: {
      name,
      namespace: 'kube-system',
      labels: { [UPDATE_LABEL]: '' },
      annotations: { [DIGEST]: digestOf(order), [ATTEMPTS]: `${(await attemptsOf(api, order, signal)) + 1}` },
    },
    data: Object.fromEntries(
      order.documents.map((text, index) => [fileOf(index), Buffer.from(text).toString('base64')]),
    ),
  };
  const secrets = `${NAMESPACE}/secrets`;
  const isStored = await createdUnlessThere(() => api.request({ method: 'POST', path: secrets, body: secret, signal }));
  if (!isStored) {
    await inWorkload(() => api.request({ method: 'PUT', path: `${secrets}/${name}`, body: secret, signal }));
  }
  const body = podFor(order, phase);
  await createdUnlessThere(() => api.request({ method: 'POST', path: `${NAMESPACE}/pods`, body, signal }));
}

const Annotated = z.looseObject({
  metadata: z.looseObject({ annotations: z.record(z.string(), z.string()).nullish() }),
});

/** How often pods were made for this order; 0 = it is not stored, or another one is. */
async function attemptsOf(api: WorkloadApi, order: Order, signal: AbortSignal): Promise<number> {
  const path = `${NAMESPACE}/secrets/${nameFor(order.node)}`;
  const found = await unlessAbsent(async () => Annotated.parse(await api.request({ path, signal })));
  if (found === undefined) return 0;
  const { [DIGEST]: digest, [ATTEMPTS]: count } = found.metadata.annotations ?? {};
  return digest === digestOf(order) ? Number(count) || 0 : 0;
}

/** Removes a pod, so that the next attempt makes another one. */
export async function removePod(api: WorkloadApi, order: Order, phase: Phase, signal: AbortSignal): Promise<void> {
  await remove(api, podPath(order, phase), signal);
}

/** Removes the pods and the order. */
export async function removeAll(api: WorkloadApi, order: Order, signal: AbortSignal): Promise<void> {
  for (const phase of ['Check', 'Run'] as const) await removePod(api, order, phase, signal);
  await remove(api, `${NAMESPACE}/secrets/${nameFor(order.node)}`, signal);
}

/** A name for each node: that of a node may be too long. */
function nameFor(node: string): string {
  return `machineadm-update-${createHash('sha256').update(node).digest('hex').slice(0, 10)}`;
}

function podName({ node }: Order, phase: Phase): string {
  return `${nameFor(node)}-${phase.toLowerCase()}`;
}

function podPath(order: Order, phase: Phase): string {
  return `${NAMESPACE}/pods/${podName(order, phase)}`;
}

function digestOf({ documents, isOnTop, image }: Order): string {
  return createHash('sha256')
    .update(JSON.stringify([documents, isOnTop, image]))
    .digest('hex');
}

/**
 * A pod on the node, which is not scheduled, so that a cordoned node has it too. It starts the node's own machineadm in a unit
 * of the node's systemd: the pod may be removed, and its runtime restarted, while machineadm works.
 */
function podFor(order: Order, phase: Phase): object {
  // Where the kubelet has the Secret, in the node's own view.
  const given = '/var/lib/kubelet/pods/$(POD_UID)/volumes/kubernetes.io~secret/documents';
  const files = [
    ...(order.isOnTop ? [MACHINE_DOCUMENT] : []),
    ...order.documents.map((_, index) => `${given}/${fileOf(index)}`),
  ];
  return {
    metadata: {
      name: podName(order, phase),
      namespace: 'kube-system',
      labels: { [UPDATE_LABEL]: '', 'app.kubernetes.io/name': 'machineadm-update' },
      annotations: { [DIGEST]: digestOf(order) },
    },
    spec: {
      nodeName: order.node,
      ...{ hostPID: true, hostNetwork: true, hostIPC: true },
      restartPolicy: 'Never',
      // The node is not ready while its kubelet restarts.
      tolerations: [{ operator: 'Exists' }],
      priorityClassName: 'system-node-critical',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      dnsPolicy: 'Default',
      containers: [
        {
          name: 'machineadm',
          image: order.image,
          imagePullPolicy: 'IfNotPresent',
          command: [
            ...['chroot', '/host'],
            ...['systemd-run', '--quiet', '--wait', '--pipe', '--collect', '--unit=machineadm-update-$(POD_UID)'],
            ...[
              'machineadm',
              'upgrade',
              '--drained',
              ...(phase === 'Check' ? ['--dry-run'] : []),
              ...files.flatMap((file) => ['-f', file]),
            ],
          ],
          env: [
            { name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
            { name: 'PATH', value: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin' },
          ],
          securityContext: { privileged: true, runAsUser: 0 },
          terminationMessagePolicy: 'FallbackToLogsOnError',
          volumeMounts: [
            { name: 'host', mountPath: '/host' },
            { name: 'documents', mountPath: '/documents', readOnly: true },
          ],
        },
      ],
      volumes: [
        { name: 'host', hostPath: { path: '/' } },
        { name: 'documents', secret: { secretName: nameFor(order.node), defaultMode: 0o400 } },
      ],
    },
  };
}

/**
 * The error or the refusal at the end of what machineadm printed (src/cli/output.ts, src/commands/plan/text.ts), otherwise the
 * last lines. Another cluster wrote it: without control characters, and short.
 */
function lastWords(text: string): string {
  const lines = stripVTControlCharacters(text)
    .split(/\r?\n/)
    .map((line) => line.replace(/[^\P{C}]/gu, ' ').trim())
    .filter((line) => line !== '');
  // A refusal, an error, or the step that failed.
  const from = lines.findLastIndex((line) => /^machineadm: | would refuse to start|^[A-Z]\w+ \(step /.test(line));
  const told = from === -1 ? lines.slice(-3) : lines.slice(from);
  return told.join(' ').slice(0, 600);
}

async function remove(api: WorkloadApi, path: string, signal: AbortSignal): Promise<void> {
  await unlessAbsent(() => api.request({ method: 'DELETE', path, signal }));
}

async function unlessAbsent<T>(work: () => Promise<T>): Promise<T | undefined> {
  return await inWorkload(async () => {
    try {
      return await work();
    } catch (error) {
      if (isStatus(error, 404)) return undefined;
      throw error;
    }
  });
}

/** Whether this created it: false where it is there already. */
async function createdUnlessThere(work: () => Promise<unknown>): Promise<boolean> {
  return await inWorkload(async () => {
    try {
      await work();
      return true;
    } catch (error) {
      if (isStatus(error, 409)) return false;
      throw error;
    }
  });
}
