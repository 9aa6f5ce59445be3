import { request } from 'node:https';
import { type Api, ApiError } from '../cluster/api.ts';

/** The API server of a workload cluster, and the credential for it; PEM. */
export interface Connection {
  readonly server: string;
  readonly certificateAuthority: string;
  readonly serverName: string | undefined;
  readonly token?: string;
  readonly certificate?: string;
  readonly key?: string;
}

export type WorkloadApi = Pick<Api, 'request'>;

/** A token and its Secret are small. */
const LARGEST_ANSWER = 1_048_576;
const REQUEST_MS = 10_000;

/**
 * A client that expects the worst of its server, which tenants run: an answer has a limit of size and time, and leads
 * nowhere else.
 */
export function connectTo({
  server,
  certificateAuthority: ca,
  serverName,
  token,
  certificate,
  key,
}: Connection): WorkloadApi {
  const credential = {
    ca,
    ...(certificate === undefined ? {} : { cert: certificate }),
    ...(key === undefined ? {} : { key }),
    ...(serverName === undefined ? {} : { servername: serverName }),
  };
  return {
    async request({ method = 'GET', path, body, contentType = 'application/json', signal }) {
      const limit = AbortSignal.timeout(REQUEST_MS);
      const text = body === undefined ? undefined : JSON.stringify(body);
      const { status, answer } = await new Promise<{ status: number; answer: string }>((resolve, reject) => {
        const sent = request(
          `${server}${path}`,
          {
            ...credential,
            method,
            headers: {
              accept: 'application/json',
              ...(text === undefined ? {} : { 'content-type': contentType }),
              ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            },
            signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
          },
          (response) => {
            const parts: Buffer[] = [];
            let size = 0;
            response.on('data', (part: Buffer) => {
              size += part.length;
              if (size > LARGEST_ANSWER) response.destroy(new RangeError('the answer is too large'));
              else parts.push(part);
            });
            response.on('error', reject);
            response.on('end', () =>
              resolve({ status: response.statusCode ?? 0, answer: Buffer.concat(parts).toString('utf8') }),
            );
          },
        );
        sent.on('error', reject);
        sent.end(text);
      });
      if (status < 200 || status > 299) throw new ApiError(status, `${method} ${path}: HTTP status ${status}`);
      return JSON.parse(answer);
    },
  };
}
