import { type HttpClient, type HttpRequest, readBody, redactedRequest } from '../../host/http/client.ts';

/** An answer that was read to its end. */
export interface Exchange {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
}

/** What a service answers to a report is a receipt or an error: small. */
const LIMIT_BYTES = 256 * 1024;

/** Sends a request and reads the whole answer. Throws `HttpError` where there is none. */
export async function exchange(client: HttpClient, request: HttpRequest): Promise<Exchange> {
  const answer = await client.request(request);
  const text = await readBody(answer, LIMIT_BYTES, redactedRequest(request.method ?? 'GET', request.url));
  return { status: answer.status, headers: answer.headers, text: new TextDecoder().decode(text) };
}

/** The JSON of an answer; undefined where it is none: a portal that answers 200 to everything, a proxy's page. */
export function jsonOf({ text }: Exchange): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
