export interface HttpRequest {
  readonly url: string;
  /** Default GET; only a GET follows redirects. */
  readonly method?: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Time limit until the response begins, and then for each gap in its body; default 30 s. */
  readonly silenceMs?: number;
  /** Time limit of the whole request; default: none. */
  readonly totalMs?: number;
  readonly signal?: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case; the first value of each. */
  readonly headers: ReadonlyMap<string, string>;
  /** Must be read to its end or released with `discard`. */
  readonly body: AsyncIterable<Uint8Array>;
  discard(): Promise<void>;
}

/** Throws `HttpError` for a request without a complete response. Every status of the server is a response. */
export interface HttpClient {
  request(request: HttpRequest): Promise<HttpAnswer>;
  /** Closes all connections, including those of active requests. */
  close(): Promise<void>;
}
