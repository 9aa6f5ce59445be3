import { setTimeout as pause } from 'node:timers/promises';
import { KUBEADM_PODS } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { describeExit } from '../host/services/unit-facts.ts';

/**
 * The kubelet restarts an ended container after 10, 20, 40 s: a container that is killed right after its start has run
 * within this time of its last end.
 */
const QUIET_MS = 10_000;

/**
 * The control plane component that ended within the last ten seconds, and how; undefined without one, or where the
 * runtime does not report it. An end with status 0 was requested.
 *
 * @param nowMs milliseconds since the epoch, by the clock of this machine
 */
export async function endedLately(host: QueryHost, criSocket: string, nowMs: number): Promise<string | undefined> {
  const ended = await host
    .cri(criSocket)
    .exitedContainers()
    .catch(() => []);
  const order: readonly string[] = KUBEADM_PODS;
  const found = ended
    .filter(({ exitCode, finishedAtMs }) => exitCode !== 0 && Math.abs(nowMs - finishedAtMs) < QUIET_MS)
    .filter(({ name }) => order.includes(name))
    .sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  const [first] = found;
  return first === undefined
    ? undefined
    : `${first.name} ended ${describeExit(first.exitCode)} less than ${QUIET_MS / 1000} s ago`;
}

const LOOK_EVERY_MS = 2_000;
/**
 * With the kubelet's pauses of 10 and 20 s between them: within the 40 s in which kubeadm expects a new member to
 * start.
 */
const ENDS_OF_A_DEAD_ETCD = 3;

/**
 * Waits until this machine's etcd has ended repeatedly since its first start, and returns how; undefined once aborted.
 */
export async function untilEtcdStaysDown(
  host: QueryHost,
  criSocket: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const begun = Date.now();
  while (!signal.aborted) {
    const exited = await host
      .cri(criSocket)
      .exitedContainers()
      .catch(() => []);
    const last = exited.find(({ name, finishedAtMs }) => name === 'etcd' && finishedAtMs >= begun);
    // The kubelet keeps only the last container of a pod; its attempt number tells how many there were.
    if (last !== undefined && last.exitCode !== 0 && last.attempt + 1 >= ENDS_OF_A_DEAD_ETCD) {
      return `etcd ended ${last.attempt + 1} times, last ${describeExit(last.exitCode)}`;
    }
    await pause(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}
