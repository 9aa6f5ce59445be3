import { type ClientHttp2Session, connect, constants, type IncomingHttpHeaders } from 'node:http2';
import { createConnection } from 'node:net';
import { MachineadmError } from '../document/errors.ts';
import type { CriCondition, CriConfiguration, CriContainer, CriImage, CriQueries } from './cri.ts';
import { messageField, ProtobufMessage, stringField, varintField } from './protobuf.ts';

/** gRPC status codes that mean something here (grpc.github.io/grpc/core/md_doc_statuscodes.html). */
const DEADLINE_EXCEEDED = 4;
const UNIMPLEMENTED = 12;
const INTERNAL = 13;
const UNAVAILABLE = 14;

const DEFAULT_DEADLINE_MS = 10_000;

/** No answer we ask for comes near this; a runtime that sends more must not fill the memory of a starting machine. */
const LARGEST_ANSWER = 64 * 1024 * 1024;

/** The state filter and the log paths cost a call each: the newest ones hold the evidence. */
const MOST_EXITED_CONTAINERS = 50;

const NOTHING = new Uint8Array(0);

/** A CRI call that did not succeed. `code` is the gRPC status; 14 (Unavailable) where nobody listens on the socket. */
export class CriError extends MachineadmError {
  readonly code: number;
  readonly method: string;

  constructor(socket: string, method: string, code: number, message: string, cause?: unknown) {
    super({
      reason: 'ContainerdUnhealthy',
      summary: `the container runtime at ${socket} did not answer the CRI call ${method}: ${message}`,
      remedy: adviceFor(code),
      evidence: [{ source: `CRI ${method}`, text: message }],
      retryable: code === UNAVAILABLE || code === DEADLINE_EXCEEDED,
      cause,
    });
    this.name = 'CriError';
    this.code = code;
    this.method = method;
  }
}

function adviceFor(code: number): string {
  if (code === UNIMPLEMENTED) {
    return 'The CRI plugin of the runtime is disabled or failed to load: look for "failed to load plugin" in `journalctl -u containerd` and for cri in disabled_plugins.';
  }
  return 'Look at `systemctl status containerd` and `journalctl -u containerd`; start the runtime, or correct the socket in the document.';
}

/**
 * The CRI v1 client for a socket, given as `unix:///run/containerd/containerd.sock` or as a path. Nothing is opened
 * until the first question; each question has its own connection, so that a restart of the runtime between two of
 * them does no harm. `deadlineMs` bounds each call, connecting included. Every method throws `CriError`.
 */
export function connectCri(socket: string, deadlineMs: number = DEFAULT_DEADLINE_MS): CriQueries {
  const path = socket.replace(/^unix:\/\//, '');
  const ask = (method: Method, request: Uint8Array) =>
    withSession(path, (session) => call(session, path, method, request, deadlineMs));

  return {
    async version() {
      const answer = await ask(RUNTIME.version, NOTHING);
      return { runtimeName: answer.string(2), runtimeVersion: answer.string(3) };
    },
    async status() {
      const answer = await ask(RUNTIME.status, NOTHING);
      return (answer.message(1)?.messages(1) ?? []).map(conditionOf);
    },
    async cgroupDriver() {
      try {
        const linux = (await ask(RUNTIME.runtimeConfig, NOTHING)).message(1);
        // enum CgroupDriver {SYSTEMD = 0; CGROUPFS = 1}
        return linux === undefined ? undefined : linux.integer(1) === 0n ? 'systemd' : 'cgroupfs';
      } catch (error) {
        if (error instanceof CriError && error.code === UNIMPLEMENTED) return undefined;
        throw error;
      }
    },
    async configuration() {
      // StatusRequest{verbose=1}, StatusResponse{info=2}
      const info = (await ask(RUNTIME.status, varintField(1, 1))).map(2);
      return configurationOf(info.get('config'));
    },
    async images() {
      return (await ask(IMAGE.listImages, NOTHING)).messages(1).map(imageOf);
    },
    exitedContainers() {
      return withSession(path, async (session) => {
        const list = await call(session, path, RUNTIME.listContainers, exitedOnly(), deadlineMs);
        const newest = [...list.messages(1)]
          .sort((a, b) => Number(b.integer(7) - a.integer(7)))
          .slice(0, MOST_EXITED_CONTAINERS);
        const containers: CriContainer[] = [];
        for (const container of newest) {
          const request = stringField(1, container.string(1));
          const answer = await call(session, path, RUNTIME.containerStatus, request, deadlineMs).catch(goneMeanwhile);
          const status = answer?.message(1);
          if (status !== undefined) containers.push(containerOf(container, status));
        }
        return containers.sort((a, b) => b.finishedAtMs - a.finishedAtMs);
      });
    },
  };
}

interface Method {
  readonly service: 'RuntimeService' | 'ImageService';
  readonly name: string;
}

const RUNTIME = {
  version: { service: 'RuntimeService', name: 'Version' },
  status: { service: 'RuntimeService', name: 'Status' },
  runtimeConfig: { service: 'RuntimeService', name: 'RuntimeConfig' },
  listContainers: { service: 'RuntimeService', name: 'ListContainers' },
  containerStatus: { service: 'RuntimeService', name: 'ContainerStatus' },
} as const satisfies Record<string, Method>;

const IMAGE = { listImages: { service: 'ImageService', name: 'ListImages' } } as const satisfies Record<string, Method>;

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
 * containerd prints its CRI configuration as JSON (containerd internal/cri/server/status.go); since 2.0 the image
 * half, the sandbox image in it, is no longer part of it (kubernetes/kubernetes#129479). Only what is asked for is
 * taken: the rest may hold registry credentials.
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
 * Container{id=1, metadata=3{name=1}, labels=8}, ContainerStatus{finished_at=6 in ns, exit_code=7, log_path=15}; the
 * kubelet labels its containers (k8s.io/kubelet/pkg/types/labels.go).
 */
function containerOf(container: ProtobufMessage, status: ProtobufMessage): CriContainer {
  const labels = container.map(8);
  return {
    id: container.string(1),
    name: labels.get('io.kubernetes.container.name') ?? container.message(3)?.string(1) ?? '',
    podName: labels.get('io.kubernetes.pod.name') ?? '',
    namespace: labels.get('io.kubernetes.pod.namespace') ?? '',
    exitCode: Number(BigInt.asIntN(32, status.integer(7))),
    finishedAtMs: Number(status.integer(6) / 1_000_000n),
    logPath: status.string(15),
  };
}

/** A container removed between list and status is no error of ours. */
function goneMeanwhile(error: unknown): undefined {
  const NOT_FOUND = 5;
  if (error instanceof CriError && error.code === NOT_FOUND) return undefined;
  throw error;
}

async function withSession<Answer>(path: string, use: (session: ClientHttp2Session) => Promise<Answer>) {
  const session = connect('http://localhost', { createConnection: () => createConnection(path) });
  // Without a listener an error of the session would end the process; each call hears of it through its own stream.
  session.on('error', () => {});
  try {
    return await use(session);
  } finally {
    session.destroy();
  }
}

/** One unary gRPC call (grpc/doc/PROTOCOL-HTTP2.md): a length-prefixed message each way, the status in the trailers. */
function call(
  session: ClientHttp2Session,
  path: string,
  method: Method,
  request: Uint8Array,
  deadlineMs: number,
): Promise<ProtobufMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<ProtobufMessage>();
  const fail = (code: number, message: string, cause?: unknown) =>
    reject(new CriError(path, method.name, code, message, cause));

  if (session.destroyed) {
    fail(UNAVAILABLE, 'the connection was lost');
    return promise;
  }
  const deadline = setTimeout(() => {
    fail(DEADLINE_EXCEEDED, `no answer within ${deadlineMs} ms`);
    session.destroy();
  }, deadlineMs);
  const lost = (error: unknown) => {
    // A stream that dies with its connection says only that it was cancelled; its cause says why.
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    fail(UNAVAILABLE, cause instanceof Error ? cause.message : String(cause), cause);
  };
  const closed = () => fail(UNAVAILABLE, 'the connection was closed before the answer was complete');
  session.on('error', lost).on('close', closed);
  const over = () => {
    clearTimeout(deadline);
    session.off('error', lost).off('close', closed);
  };

  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: 'POST',
    [constants.HTTP2_HEADER_PATH]: `/runtime.v1.${method.service}/${method.name}`,
    'content-type': 'application/grpc',
    te: 'trailers',
    'grpc-timeout': `${deadlineMs}m`,
  });
  const parts: Buffer[] = [];
  let received = 0;
  let headers: IncomingHttpHeaders = {};
  stream.on('response', (initial) => {
    headers = initial;
  });
  stream.on('trailers', (trailers) => {
    headers = { ...headers, ...trailers };
  });
  stream.on('data', (part: Buffer) => {
    received += part.length;
    if (received <= LARGEST_ANSWER) parts.push(part);
    else stream.close(constants.NGHTTP2_CANCEL);
  });
  stream.on('error', lost);
  stream.on('close', () => {
    const status = headers['grpc-status'];
    if (status === undefined) {
      const httpStatus = headers[constants.HTTP2_HEADER_STATUS];
      fail(UNAVAILABLE, `the answer has no gRPC status${httpStatus === undefined ? '' : ` (HTTP ${httpStatus})`}`);
    } else if (status !== '0') fail(Number(status), decodeURIComponentLeniently(String(headers['grpc-message'] ?? '')));
    else {
      try {
        resolve(new ProtobufMessage(unframe(Buffer.concat(parts))));
      } catch (error) {
        fail(
          INTERNAL,
          `the answer cannot be decoded: ${error instanceof Error ? error.message : String(error)}`,
          error,
        );
      }
    }
  });
  stream.end(frame(request));
  return promise.finally(over);
}

function frame(message: Uint8Array): Buffer {
  const framed = Buffer.alloc(5 + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, 5);
  return framed;
}

function unframe(framed: Buffer): Uint8Array {
  if (framed.length < 5 || framed[0] !== 0) throw new RangeError('not one uncompressed gRPC message');
  const length = framed.readUInt32BE(1);
  if (framed.length !== 5 + length) throw new RangeError('the gRPC message has another length than announced');
  return framed.subarray(5);
}

/** grpc-message is percent-encoded. */
function decodeURIComponentLeniently(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
