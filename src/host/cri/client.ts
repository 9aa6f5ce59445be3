import { CriError, call, type Method, UNIMPLEMENTED, withSession } from './call.ts';
import { messageField, type ProtobufMessage, stringField, varintField } from './protobuf.ts';
import type { CriCondition, CriConfiguration, CriContainer, CriImage, CriQueries } from './queries.ts';
import { listWorkloads } from './workloads.ts';

export { CriError } from './call.ts';

const DEFAULT_DEADLINE_MS = 10_000;
const PULL_DEADLINE_MS = 10 * 60_000;
/** A container that does not stop by itself is killed after its pod's grace period, 30 s by default. */
const REMOVAL_DEADLINE_MS = 2 * 60_000;

/** Each state filter and log path needs its own call; only the newest containers are needed as evidence. */
const MOST_EXITED_CONTAINERS = 50;

const NOTHING = new Uint8Array(0);

/**
 * The CRI v1 client for a socket, given as `unix:///run/containerd/containerd.sock` or as a path. It connects at the
 * first query, and each query has its own connection, so a restart of the runtime in between is harmless. `deadlineMs`
 * limits each call, including the connection. Every method throws `CriError`.
 */
export function connectCri(socket: string, deadlineMs: number = DEFAULT_DEADLINE_MS): CriQueries {
  const path = socket.replace(/^unix:\/\//, '');
  const ask = <Answer>(method: Method, request: Uint8Array, read: (answer: ProtobufMessage) => Answer) =>
    withSession(path, (session) => call(session, path, method, request, deadlineMs, read));

  return {
    async version() {
      return await ask(RUNTIME.version, NOTHING, (answer) => ({
        runtimeName: answer.string(2),
        runtimeVersion: answer.string(3),
      }));
    },
    async status() {
      return await ask(RUNTIME.status, NOTHING, (answer) => (answer.message(1)?.messages(1) ?? []).map(conditionOf));
    },
    async cgroupDriver() {
      try {
        // enum CgroupDriver {SYSTEMD = 0; CGROUPFS = 1}
        return await ask(RUNTIME.runtimeConfig, NOTHING, (answer) => {
          const driver = answer.message(1)?.integer(1);
          return driver === undefined ? undefined : driver === 0n ? 'systemd' : 'cgroupfs';
        });
      } catch (error) {
        if (error instanceof CriError && error.code === UNIMPLEMENTED) return undefined;
        throw error;
      }
    },
    async configuration() {
      // StatusRequest{verbose=1}, StatusResponse{info=2}
      return await ask(RUNTIME.status, varintField(1, 1), (answer) => configurationOf(answer.map(2).get('config')));
    },
    async images() {
      return await ask(IMAGE.listImages, NOTHING, (answer) => answer.messages(1).map(imageOf));
    },
    workloads: () => listWorkloads(path, deadlineMs),
    exitedContainers() {
      return withSession(path, async (session) => {
        const newest = await call(session, path, RUNTIME.listContainers, exitedOnly(), deadlineMs, (list) =>
          [...list.messages(1)]
            .sort((a, b) => Number(b.integer(7) - a.integer(7)))
            .slice(0, MOST_EXITED_CONTAINERS)
            .map((container) => ({ request: stringField(1, container.string(1)), ended: endedOf(container) })),
        );
        const containers: CriContainer[] = [];
        for (const { request, ended } of newest) {
          const found = await call(session, path, RUNTIME.containerStatus, request, deadlineMs, (answer) => {
            const status = answer.message(1);
            return status === undefined ? undefined : ended(status);
          }).catch(goneMeanwhile);
          if (found !== undefined) containers.push(found);
        }
        return containers.sort((a, b) => b.finishedAtMs - a.finishedAtMs);
      });
    },
  };
}

/**
 * Pulls an image through the runtime at a socket, without credentials of a pod, and returns its id. An aborted pull is
 * not undone. Throws `CriError`, and the reason of `signal`.
 */
export async function pullImage(
  socket: string,
  reference: string,
  signal: AbortSignal,
  deadlineMs: number = PULL_DEADLINE_MS,
): Promise<string> {
  const path = socket.replace(/^unix:\/\//, '');
  // PullImageRequest{image=1: ImageSpec{image=1}}, PullImageResponse{image_ref=1}
  const request = messageField(1, stringField(1, reference));
  return await withSession(path, async (session) => {
    const stop = () => session.destroy();
    signal.throwIfAborted();
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await call(session, path, IMAGE.pullImage, request, deadlineMs, (answer) => answer.string(1));
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  });
}

/**
 * Stops and removes all pods with their containers through the runtime at a socket. Returns their number. Throws
 * `CriError`, and the reason of `signal`.
 */
export async function removePods(
  socket: string,
  signal: AbortSignal,
  deadlineMs: number = REMOVAL_DEADLINE_MS,
): Promise<number> {
  const path = socket.replace(/^unix:\/\//, '');
  return await withSession(path, async (session) => {
    // ListPodSandboxResponse{items=1: PodSandbox{id=1}}
    const pods = await call(session, path, RUNTIME.listPodSandbox, NOTHING, deadlineMs, (list) =>
      list.messages(1).map((pod) => stringField(1, pod.string(1))),
    );
    for (const pod of pods) {
      for (const method of [RUNTIME.stopPodSandbox, RUNTIME.removePodSandbox]) {
        signal.throwIfAborted();
        await call(session, path, method, pod, deadlineMs, () => undefined).catch(goneMeanwhile);
      }
    }
    return pods.length;
  });
}

const RUNTIME = {
  version: { service: 'RuntimeService', name: 'Version' },
  status: { service: 'RuntimeService', name: 'Status' },
  runtimeConfig: { service: 'RuntimeService', name: 'RuntimeConfig' },
  listContainers: { service: 'RuntimeService', name: 'ListContainers' },
  containerStatus: { service: 'RuntimeService', name: 'ContainerStatus' },
  listPodSandbox: { service: 'RuntimeService', name: 'ListPodSandbox' },
  stopPodSandbox: { service: 'RuntimeService', name: 'StopPodSandbox' },
  removePodSandbox: { service: 'RuntimeService', name: 'RemovePodSandbox' },
} as const satisfies Record<string, Method>;

const IMAGE = {
  listImages: { service: 'ImageService', name: 'ListImages' },
  pullImage: { service: 'ImageService', name: 'PullImage' },
} as const satisfies Record<string, Method>;

// Field numbers below: k8s.io/cri-api pkg/apis/runtime/v1/api.proto.

/** ListContainersRequest{filter=1: ContainerFilter{state=2: ContainerStateValue{state=1: CONTAINER_EXITED=2}}} */
function exitedOnly(): Uint8Array {
  return messageField(1, messageField(2, varintField(1, 2)));
}

/** RuntimeCondition{type=1, status=2, reason=3, message=4} */
function conditionOf(condition: ProtobufMessage): CriCondition {
  return {
    type: condition.string(1),
    status: condition.boolean(2),
    reason: condition.string(3),
    message: condition.string(4),
  };
}

/**
 * containerd prints its CRI configuration as JSON (containerd internal/cri/server/status.go); since 2.0 without the
 * image part and so without the sandbox image (kubernetes/kubernetes#129479). Only the needed fields are read: others
 * may contain registry credentials.
 */
function configurationOf(json: string | undefined): CriConfiguration {
  const config = parseObject(json ?? '');
  const containerd = objectIn(config, 'containerd');
  const defaultRuntime = containerd.defaultRuntimeName;
  const runtime = typeof defaultRuntime === 'string' ? objectIn(objectIn(containerd, 'runtimes'), defaultRuntime) : {};
  const systemdCgroup = objectIn(runtime, 'options').SystemdCgroup;
  const { sandboxImage, restrictOOMScoreAdj } = config;
  return {
    cgroupDriver: typeof systemdCgroup !== 'boolean' ? undefined : systemdCgroup ? 'systemd' : 'cgroupfs',
    sandboxImage: typeof sandboxImage === 'string' ? sandboxImage : undefined,
    restrictOomScoreAdj: typeof restrictOOMScoreAdj === 'boolean' ? restrictOOMScoreAdj : undefined,
  };
}

type JsonObject = Readonly<Record<string, unknown>>;

function parseObject(json: string): JsonObject {
  try {
    return asObject(JSON.parse(json));
  } catch {
    return {};
  }
}

function objectIn(parent: JsonObject, key: string): JsonObject {
  return asObject(parent[key]);
}

function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
}

/** Image{id=1, repo_tags=2, repo_digests=3} */
function imageOf(image: ProtobufMessage): CriImage {
  return { id: image.string(1), tags: image.strings(2), digests: image.strings(3) };
}

/**
 * Container{id=1, metadata=3{name=1, attempt=2}, labels=8}, ContainerStatus{finished_at=6 in ns, exit_code=7, reason=10,
 * log_path=15}; the kubelet labels its containers (k8s.io/kubelet/pkg/types/labels.go).
 */
function endedOf(container: ProtobufMessage): (status: ProtobufMessage) => CriContainer {
  const labels = container.map(8);
  const metadata = container.message(3);
  const known = {
    id: container.string(1),
    name: labels.get('io.kubernetes.container.name') ?? metadata?.string(1) ?? '',
    namespace: labels.get('io.kubernetes.pod.namespace') ?? '',
    attempt: Number(metadata?.integer(2) ?? 0n),
  };
  return (status) => ({
    ...known,
    exitCode: Number(BigInt.asIntN(32, status.integer(7))),
    reason: status.string(10),
    finishedAtMs: Number(status.integer(6) / 1_000_000n),
    logPath: status.string(15),
  });
}

/** A container that was removed between list and status is not an error. */
function goneMeanwhile(error: unknown): undefined {
  const NOT_FOUND = 5;
  if (error instanceof CriError && error.code === NOT_FOUND) return undefined;
  throw error;
}
