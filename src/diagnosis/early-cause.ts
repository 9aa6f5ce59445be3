import { setTimeout as pause } from 'node:timers/promises';
import { type Failure, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { KUBEADM_PODS, KUBELET_CONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { failureOf, type Verdict } from '@machineadm/failures/verdict.ts';
import { socketOfMachine } from '../host/linux/runtime-sockets.ts';
import type { QueryHost, ServiceState } from '../host/seam/host.ts';
import { unitTrouble } from '../host/services/unit-trouble.ts';
import { checkClusterInfo, type JoinCredentials } from './checks/cluster-info.ts';
import { checkEndpoint, parseEndpoint } from './checks/endpoint.ts';
import type { Finding } from './checks/finding.ts';
import { type CollectContext, collectLogs } from './collect.ts';
import { verdictOn } from './index.ts';

/** What a bootstrapper that still waits probably waits for in vain. */
export interface EarlyCause {
  readonly failure: Failure;
  /**
   * True where waiting cannot help: the kubelet or a component of the control plane exits again and again because of its own
   * configuration.
   */
  readonly isPermanent: boolean;
}

/** The processes to look at, and the cluster that a machine joins. */
export interface WatchContext extends CollectContext {
  /** undefined: it does not join by a token. */
  readonly join?: JoinCredentials | undefined;
}

const LOOK_EVERY_MS = 2_000;
/** Long enough for a second SYN (RFC 6298: after one second). */
const CONNECTION_MS = 2_500;
/** How long a kubelet that runs may take before its journal is read for what it was refused; the next times are as far apart. */
const PATIENCE_MS = 6_000;
/** kubeadm stops the kubelet before it writes its configuration, and starts it again. */
const STOPPED_FOR_GOOD_MS = 10_000;
/** A process that exits twice in the same way will do so a third time. */
const ENDS_OF_A_PERMANENT_CAUSE = 2;
/** Below this a verdict names a symptom, or is a guess (failures, verdict.ts). */
const LEAST_CONFIDENCE = 0.65;

/** What a process refuses of its own configuration, so that only an edit helps. */
const OWN_CONFIGURATION: ReadonlySet<string> = new Set<Reason>([
  'AuditPolicyFileMissing',
  'AuditPolicyInvalid',
  'CgroupV1Unsupported',
  'ComponentFileMissing',
  'ComponentUnknownFlag',
  'EncryptionConfigInvalid',
  'KernelDefaultsMismatch',
  'KubeletConfigInvalid',
  'KubeletUnknownFlag',
  'SwapEnabled',
  'UnrecognizedFeatureGate',
]);

/** The bootstrapper has not failed: the verdict looks for a cause of what it waits for. */
const WAITING = new MachineadmError({ reason: 'BootstrapperFailed', summary: '', remedy: '' });

/**
 * Looks every two seconds, while a bootstrapper runs, at the processes that it waits for, and judges their logs as soon as
 * one of them has exited, or the kubelet has run for some time without result. Calls `onCause` when the probable cause
 * changes; with undefined when there is none any longer. Until the kubelet has its configuration, its exits mean nothing:
 * kubeadm's unit restarts it until then. A machine that joins asks the cluster until then: kubeadm repeats in silence what it is
 * refused (k/k cmd/kubeadm/app/discovery/token). Ends with `signal`; never throws.
 */
export async function watchForCause(
  host: QueryHost,
  context: WatchContext,
  signal: AbortSignal,
  onCause: (cause: EarlyCause | undefined) => void,
): Promise<void> {
  const ends = new ProcessEnds();
  let known: EarlyCause | undefined;
  while (!signal.aborted) {
    await pause(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const cause = await look(host, context, ends, signal).catch(() => known);
    if (signal.aborted) return;
    const isSame = cause?.failure.reason === known?.failure.reason && cause?.isPermanent === known?.isPermanent;
    known = cause;
    if (!isSame) onCause(cause);
  }
}

async function look(
  host: QueryHost,
  context: WatchContext,
  ends: ProcessEnds,
  signal: AbortSignal,
): Promise<EarlyCause | undefined> {
  const isConfigured = await ends.observe(host, context);
  if (!isConfigured) return context.join === undefined ? undefined : await lookAtCluster(host, context.join, signal);
  if (ends.isKubeletPaused || !ends.areWorthReading(performance.now())) return undefined;
  const found = verdictOn(WAITING, await collectLogs(host, context), context.endpoint);
  if (found.reason === WAITING.reason || found.confidence < LEAST_CONFIDENCE || found.causes.length === 0)
    return undefined;
  return { failure: failureOf(found), isPermanent: isPermanent(found, ends) };
}

/** The cluster may come, and its operator may create the token: none of this is permanent. */
async function lookAtCluster(
  host: QueryHost,
  join: JoinCredentials,
  signal: AbortSignal,
): Promise<EarlyCause | undefined> {
  const endpoint = parseEndpoint(join.endpoint);
  if (endpoint === undefined) return undefined;
  const isFailed = ({ severity }: Finding): boolean => severity === 'failed';
  const onTheWay = (await checkEndpoint(host, endpoint, Date.now, CONNECTION_MS)).find(isFailed);
  const found = onTheWay ?? (await checkClusterInfo(join, signal)).find(isFailed);
  if (found?.reason === undefined) return undefined;
  const { reason, text, remedy = '' } = found;
  const summary = `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}.`;
  const evidence = [{ source: join.endpoint, text }];
  return { failure: { reason, summary, remedy, evidence, retryable: true }, isPermanent: false };
}

function isPermanent({ reason, retryable, evidence }: Verdict, ends: ProcessEnds): boolean {
  if (retryable || !OWN_CONFIGURATION.has(reason)) return false;
  return ends.of(evidence[0]?.source ?? '') >= ENDS_OF_A_PERMANENT_CAUSE;
}

/** How often the processes that a bootstrapper waits for have exited with an error since they could have run. */
class ProcessEnds {
  #kubelet = 0;
  #restarts: number | undefined;
  #isDown = false;
  #stoppedSinceMs: number | undefined;
  #components: ReadonlyMap<string, number> = new Map();
  #readMs: number | undefined;

  /** Returns whether the kubelet has its configuration. */
  async observe(host: QueryHost, { criSocket, since, role }: CollectContext): Promise<boolean> {
    const [config, state] = await Promise.all([host.stat(KUBELET_CONFIG), host.service('kubelet')]);
    if (config === undefined) return false;
    this.#readMs ??= performance.now();
    this.#countKubelet(state);
    if (role === 'Worker') return true;
    const sinceMs = 'realTimeMs' in since ? since.realTimeMs : 0;
    const exited = await host
      .cri(criSocket ?? (await socketOfMachine(host, 'linux')))
      .exitedContainers()
      .catch(() => []);
    const failed = exited.filter(
      ({ name, exitCode, finishedAtMs }) =>
        exitCode !== 0 && finishedAtMs >= sinceMs && KUBEADM_PODS.some((pod) => pod === name),
    );
    // The kubelet keeps only the last container of a pod; its attempt number tells how many there were.
    this.#components = new Map(failed.map(({ name, attempt }) => [name, attempt + 1]));
    return true;
  }

  #countKubelet(state: ServiceState): void {
    const restarts = state.unit?.restarts ?? 0;
    // A start by kubeadm sets the number back to 0.
    if (this.#restarts !== undefined && restarts > this.#restarts) this.#kubelet += restarts - this.#restarts;
    this.#restarts = restarts;
    const trouble = unitTrouble(state);
    this.#isDown = trouble !== undefined;
    this.#stoppedSinceMs = trouble?.kind === 'stopped' ? (this.#stoppedSinceMs ?? performance.now()) : undefined;
  }

  /** Whether the kubelet was stopped, without an error, a moment ago. */
  get isKubeletPaused(): boolean {
    return this.#stoppedSinceMs !== undefined && performance.now() - this.#stoppedSinceMs < STOPPED_FOR_GOOD_MS;
  }

  /** Whether something exited, or it is time to read what a kubelet that runs has met. */
  areWorthReading(nowMs: number): boolean {
    if (this.#kubelet > 0 || this.#isDown || this.#components.size > 0) return true;
    if (this.#readMs === undefined || nowMs - this.#readMs < PATIENCE_MS) return false;
    this.#readMs = nowMs;
    return true;
  }

  /** @param origin where a line comes from: `journal of kubelet`, `log of container etcd`, … */
  of(origin: string): number {
    const component = /^log of container (\S+)$/.exec(origin)?.[1];
    if (component !== undefined) return this.#components.get(component) ?? 0;
    // systemd counts its restarts: a kubelet that is down has exited once more.
    return /^(?:journal of kubelet|service manager)$/.test(origin) ? this.#kubelet + (this.#isDown ? 1 : 0) : 0;
  }
}
