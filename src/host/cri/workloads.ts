import { CriError, call, type Method, withSession } from './call.ts';
import { messageField, type ProtobufMessage, stringField, varintField } from './protobuf.ts';
import type { CriWorkloads } from './queries.ts';

const DEADLINE_MS = 10_000;
/** Its image may have to be pulled. */
const PROBE_DEADLINE_MS = 2 * 60_000;

/** By this label a probe finds what a killed run left. */
const PROBE_LABEL = ['machineadm.dev/probe', 'containerd'] as const;
const NOT_FOUND = 5;

const method = (name: string): Method => ({ service: 'RuntimeService', name });

// Field numbers below: k8s.io/cri-api pkg/apis/runtime/v1/api.proto.

/** The pods that are ready and the containers that run, of the runtime at a socket. Throws `CriError`. */
export async function listWorkloads(path: string, deadlineMs: number = DEADLINE_MS): Promise<CriWorkloads> {
  return await withSession(path, async (session) => {
    const ask = <Answer>(name: string, request: Uint8Array, read: (answer: ProtobufMessage) => Answer) =>
      call(session, path, method(name), request, deadlineMs, read);
    // PodSandboxFilter{state=2: PodSandboxStateValue{state=1: SANDBOX_READY=0}}, PodSandbox{id=1, metadata=2{name=1, namespace=3}}
    const pods = await ask('ListPodSandbox', messageField(1, messageField(2, varintField(1, 0))), (answer) =>
      answer.messages(1).map((pod) => ({
        id: pod.string(1),
        name: `${pod.message(2)?.string(3) ?? ''}/${pod.message(2)?.string(1) ?? ''}`,
      })),
    );
    // ContainerFilter{state=2: ContainerStateValue{state=1: CONTAINER_RUNNING=1}}
    const running = await ask('ListContainers', messageField(1, messageField(2, varintField(1, 1))), (answer) =>
      answer.messages(1).map((container) => ({
        id: container.string(1),
        name: container.message(3)?.string(1) ?? '',
        pod: container.string(2),
      })),
    );
    const containers: CriWorkloads['containers'][number][] = [];
    for (const { pod, ...container } of running) {
      // ContainerStatus{started_at=5}
      const startedAt = await ask('ContainerStatus', stringField(1, container.id), (answer) =>
        String(answer.message(1)?.integer(5) ?? 0n),
      ).catch(goneMeanwhile);
      const name = `${pods.find(({ id }) => id === pod)?.name ?? pod}/${container.name}`;
      if (startedAt !== undefined) containers.push({ id: container.id, name, startedAt });
    }
    return { pods, containers };
  });
}

/**
 * Runs a pod without containers in the network of the machine, and removes it: new pods can be started. Throws `CriError`, and the
 * reason of `signal`.
 *
 * @param cgroupParent for the systemd cgroup driver, which accepts only a slice
 */
export async function probePod(
  socket: string,
  cgroupParent: string,
  signal: AbortSignal,
  deadlineMs: number = PROBE_DEADLINE_MS,
): Promise<void> {
  const path = socket.replace(/^unix:\/\//, '');
  await withSession(path, async (session) => {
    const ask = <Answer>(name: string, request: Uint8Array, read: (answer: ProtobufMessage) => Answer) => {
      signal.throwIfAborted();
      return call(session, path, method(name), request, deadlineMs, read);
    };
    const label = bytes(stringField(1, PROBE_LABEL[0]), stringField(2, PROBE_LABEL[1]));
    const remove = async (): Promise<void> => {
      // PodSandboxFilter{label_selector=3}
      const left = await ask('ListPodSandbox', messageField(1, messageField(3, label)), (answer) =>
        answer.messages(1).map((pod) => stringField(1, pod.string(1))),
      );
      for (const pod of left) {
        for (const name of ['StopPodSandbox', 'RemovePodSandbox'])
          await ask(name, pod, () => undefined).catch(goneMeanwhile);
      }
    };
    await remove();
    const stop = (): void => session.destroy();
    signal.addEventListener('abort', stop, { once: true });
    try {
      await ask('RunPodSandbox', messageField(1, podOf(label, cgroupParent)), () => undefined);
      await remove();
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  });
}

/**
 * PodSandboxConfig{metadata=1{name=1, uid=2, namespace=3}, labels=6, linux=8{cgroup_parent=1, security_context=2
 * {namespace_options=1{network=1: NODE=2}}}}
 */
function podOf(label: Uint8Array, cgroupParent: string): Uint8Array {
  const name = 'machineadm-probe';
  const metadata = bytes(stringField(1, name), stringField(2, name), stringField(3, 'machineadm'));
  const security = messageField(1, varintField(1, 2));
  const parent = cgroupParent === '' ? new Uint8Array(0) : stringField(1, cgroupParent);
  const linux = bytes(parent, messageField(2, security));
  return bytes(messageField(1, metadata), messageField(6, label), messageField(8, linux));
}

function bytes(...parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts));
}

/** What was removed meanwhile is no error. */
function goneMeanwhile(error: unknown): undefined {
  if (error instanceof CriError && error.code === NOT_FOUND) return undefined;
  throw error;
}
