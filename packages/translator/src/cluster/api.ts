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
  const watcher = new Watch(config);
  const authenticate = authentication(config);
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
      const dispatcher = await authenticate(context);
      const { status, text } = await (dispatcher === undefined
        ? viaFetch(context)
        : viaDispatcher(dispatcher, context));
      const value = parsedJson(text);
      if (status >= 200 && status <= 299) return value;
      const { data } = Status.safeParse(value);
      throw new ApiError(status, `${method} ${path}: ${data?.message ?? `HTTP status ${status}`}`);
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
/** After so long the token is read again. The kubelet renews that of a pod minutes before it expires. */
const TOKEN_MS = 10_000;

type Dispatcher = NonNullable<ReturnType<RequestContext['getDispatcher']>>;

/**
 * Authenticates requests, and lets them share connections. The client (2.0.1) reads its files and makes a new pool of connections
 * for each request, with a handshake each and memory that is freed late: 800 MB after a thousand translations.
 */
function authentication(config: KubeConfig): (context: RequestContext) => Promise<Dispatcher | undefined> {
  let connections: { readonly dispatcher: Dispatcher | undefined; readonly at: number } | undefined;
  let token: { readonly headers: Readonly<Record<string, string>>; readonly at: number } | undefined;
  return async (context) => {
    const now = performance.now();
    if (token === undefined || now - token.at > TOKEN_MS) {
      const own = new RequestContext(context.getUrl(), HttpMethod.GET);
      await config.applySecurityAuthentication(own);
      token = { headers: own.getHeaders(), at: now };
      if (connections === undefined || now - connections.at > REUSE_MS) {
        connections = { dispatcher: own.getDispatcher(), at: now };
      }
    }
    for (const [name, value] of Object.entries(token.headers)) context.setHeaderParam(name, value);
    return connections?.dispatcher;
  };
}

interface Received {
  readonly status: number;
  readonly text: string;
}

/** Without the streams and events of `fetch`, which take more time than the request. Redirects are not followed. */
async function viaDispatcher(dispatcher: Dispatcher, context: RequestContext): Promise<Received> {
  const { origin, pathname, search } = new URL(context.getUrl());
  const body = context.getBody();
  const { statusCode, body: answer } = await dispatcher.request<null>({
    origin,
    path: `${pathname}${search}`,
    method: context.getHttpMethod(),
    headers: context.getHeaders(),
    body: typeof body === 'string' ? body : null,
    signal: context.getSignal() ?? null,
  });
  return { status: statusCode, text: await answer.text() };
}

/** Where there is no TLS. */
async function viaFetch(context: RequestContext): Promise<Received> {
  const { httpStatusCode, body } = await new IsomorphicFetchHttpLibrary().send(context).toPromise();
  return { status: httpStatusCode, text: await body.text() };
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
