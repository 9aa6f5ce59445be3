import { readBody, redactedRequest } from '../../host/http/client.ts';
import type { HttpClient, HttpRequest } from '../../host/seam/http.ts';

/** A completely read response. */
export interface Exchange {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
}

/** A service's response to a report is a receipt or an error: small. */
const LIMIT_BYTES = 256 * 1024;

/** Sends a request and reads the whole response. Throws `HttpError` without one. */
export async function exchange(client: HttpClient, request: HttpRequest): Promise<Exchange> {
  const answer = await client.request(request);
  const text = await readBody(answer, LIMIT_BYTES, redactedRequest(request.method ?? 'GET', request.url));
  return { status: answer.status, headers: answer.headers, text: new TextDecoder().decode(text) };
}

/** The JSON of a response; undefined for other content, such as the page of a portal or proxy. */
export function jsonOf({ text }: Exchange): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
