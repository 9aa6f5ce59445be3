import {
  bufferFromFileOrString,
  HttpMethod,
  IsomorphicFetchHttpLibrary,
  KubeConfig,
  RequestContext,
  Watch,
} from '@kubernetes/client-node';
import * as z from 'zod';

/** An answer of the API server that is not 2xx. The message is that of its Status; it has no part of the request. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
  }
}

const Status = z.looseObject({ message: z.string() });

export interface Request {
  readonly method?: keyof typeof HttpMethod;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Default: `application/json`. */
  readonly contentType?: PatchType;
  readonly signal?: AbortSignal | undefined;
}

/** Forms of a patch (k8s docs, API concepts). */
export type PatchType = 'application/apply-patch+yaml' | 'application/json-patch+json';

export interface WatchEvent {
  readonly type: string;
  readonly object: unknown;
}

/** The API server of the management cluster. Answers are unknown: whoever asks checks them against a schema. */
export interface Api {
  /** Throws `ApiError` for an answer other than 2xx, and the error of the connection or of the signal. */
  request(request: Request): Promise<unknown>;
  /** Calls `receive` with each event until the server ends the watch, it fails, or the signal ends it. Never throws. */
  watch(
    path: string,
    query: Readonly<Record<string, string>>,
    receive: (event: WatchEvent) => void,
    signal: AbortSignal,
  ): Promise<void>;
  /** PEM of the authorities that the API server's certificate is verified by; undefined where the system's are. */
  readonly certificateAuthority: string | undefined;
}

/** One request takes at most this long: one that nothing else ends, and one that its caller ends. */
const REQUEST_TIMEOUT_MS = { alone: 10_000, withSignal: 30_000 } as const;

/** The API server of a kubeconfig file, or of the cluster that this process runs in. */
export function connect(kubeconfig: string | undefined): Api {
  const config = new KubeConfig();
  if (kubeconfig === undefined) config.loadFromCluster();
  else config.loadFromFile(kubeconfig);
  return apiOf(config);
}

function apiOf(config: KubeConfig): Api {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error('the kubeconfig has no current cluster');
  const library = new IsomorphicFetchHttpLibrary();
  const watcher = new Watch(config);
  const reuseConnections = connectionReuse();
  return {
    certificateAuthority: bufferFromFileOrString(cluster.caFile, cluster.caData)?.toString('utf8'),
    async request({ method = 'GET', path, query = {}, body, contentType, signal }) {
      const context = new RequestContext(`${cluster.server}${path}`, HttpMethod[method]);
      for (const [name, value] of Object.entries(query)) context.setQueryParam(name, value);
      context.setHeaderParam('Accept', 'application/json');
      if (body !== undefined) {
        context.setHeaderParam('Content-Type', contentType ?? 'application/json');
        context.setBody(JSON.stringify(body));
      }
      context.setSignal(
        signal === undefined
          ? AbortSignal.timeout(REQUEST_TIMEOUT_MS.alone)
          : AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS.withSignal)]),
      );
      await config.applySecurityAuthentication(context);
      reuseConnections(context);
      const { httpStatusCode, body: answer } = await library.send(context).toPromise();
      const value = parsedJson(await answer.text());
      if (httpStatusCode >= 200 && httpStatusCode <= 299) return value;
      const { data } = Status.safeParse(value);
      throw new ApiError(httpStatusCode, `${method} ${path}: ${data?.message ?? `HTTP status ${httpStatusCode}`}`);
    },
    async watch(path, query, receive, signal) {
      if (signal.aborted) return;
      await new Promise<void>((resolve) => {
        const started = watcher.watch(
          path,
          query,
          (type: string, object: unknown) => receive({ type, object }),
          () => resolve(),
        );
        started.then(
          (controller) => signal.addEventListener('abort', () => controller.abort(), { once: true }),
          () => resolve(),
        );
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    },
  };
}

/** After so long the credentials of connections are read again: certificates of a kubeconfig may be rotated. */
const REUSE_MS = 600_000;

/**
 * Lets requests share connections. The client (2.0.1) makes a new pool of connections for each request, with a handshake
 * each and memory that is freed late: 800 MB after a thousand translations.
 */
function connectionReuse(): (context: RequestContext) => void {
  let shared: { readonly dispatcher: ReturnType<RequestContext['getDispatcher']>; readonly at: number } | undefined;
  return (context) => {
    if (shared === undefined || performance.now() - shared.at > REUSE_MS) {
      shared = { dispatcher: context.getDispatcher(), at: performance.now() };
    }
    if (shared.dispatcher !== undefined) context.setDispatcher(shared.dispatcher);
  };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** True for an answer of this status. */
export function isStatus(error: unknown, status: number): boolean {
  return error instanceof ApiError && error.status === status;
}
