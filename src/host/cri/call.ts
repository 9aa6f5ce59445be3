import { type ClientHttp2Session, connect, constants, type IncomingHttpHeaders } from 'node:http2';
import { createConnection } from 'node:net';
import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { ProtobufMessage } from './protobuf.ts';

/** gRPC status codes with a meaning here (grpc.github.io/grpc/core/md_doc_statuscodes.html). */
const DEADLINE_EXCEEDED = 4;
export const UNIMPLEMENTED = 12;
const INTERNAL = 13;
const UNAVAILABLE = 14;

/** No expected response comes near this limit; it protects the memory of a starting machine. */
const LARGEST_ANSWER = 64 * 1024 * 1024;

/** A CRI call failed. `code` is the gRPC status; 14 (Unavailable) where nothing listens on the socket. */
export class CriError extends MachineadmError {
  readonly code: number;
  readonly method: string;

  constructor(socket: string, method: string, code: number, message: string, cause?: unknown) {
    super({
      // Without the method, the runtime has another version of CRI; without the service, no CRI at all.
      reason:
        code === UNIMPLEMENTED && message.startsWith('unknown service') ? 'CRIv1Unimplemented' : 'ContainerdUnhealthy',
      exit: 'HostStepFailed',
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

/** A method of CRI v1. */
export interface Method {
  readonly service: 'RuntimeService' | 'ImageService';
  readonly name: string;
}

/** A connection to a socket for the duration of `use`. */
export async function withSession<Answer>(path: string, use: (session: ClientHttp2Session) => Promise<Answer>) {
  const session = connect('http://localhost', { createConnection: () => createConnection(path) });
  // An unhandled error of the session would end the process; each call gets it through its own stream.
  session.on('error', () => {});
  try {
    return await use(session);
  } finally {
    session.destroy();
  }
}

/**
 * One unary gRPC call (grpc/doc/PROTOCOL-HTTP2.md): a length-prefixed message each way, the status in the trailers.
 *
 * @param read extracts the result from the response; an embedded message that cannot be decoded is also a `CriError`
 */
export function call<Answer>(
  session: ClientHttp2Session,
  path: string,
  method: Method,
  request: Uint8Array,
  deadlineMs: number,
  read: (answer: ProtobufMessage) => Answer,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
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
    // A stream that ends with its connection only reports a cancellation; its cause has the reason.
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    fail(UNAVAILABLE, errorMessage(cause), cause);
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
        resolve(read(new ProtobufMessage(unframe(Buffer.concat(parts)))));
      } catch (error) {
        fail(INTERNAL, `the answer cannot be decoded: ${errorMessage(error)}`, error);
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
