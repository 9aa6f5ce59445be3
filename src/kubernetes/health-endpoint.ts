/** One health endpoint may take this long, in milliseconds. */
const REQUEST_TIMEOUT_MS = 5_000;
const LARGEST_BODY = 64 * 1024;

export type HealthAnswer =
  | { readonly status: number; readonly body: string }
  /** No answer: refused, cut, or too late. */
  | { readonly why: string };

/**
 * GETs a health endpoint of this machine. A certificate is not verified: most components sign their own, and nothing that
 * is answered is believed but whether something lives there. Rejects with the reason of `signal` only.
 */
export async function askHealthEndpoint(url: string, signal?: AbortSignal): Promise<HealthAnswer> {
  signal?.throwIfAborted();
  const { request } = await (url.startsWith('https:') ? import('node:https') : import('node:http'));
  const deadline = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  return await new Promise((resolve, reject) => {
    const options = { agent: false, signal: signal ? AbortSignal.any([signal, deadline]) : deadline };
    const outgoing = request(url, { ...options, rejectUnauthorized: false }, (incoming) => {
      let body = '';
      incoming.on('error', () => {});
      incoming.on('data', (piece: Buffer) => {
        if (body.length < LARGEST_BODY) body += piece.toString('utf8');
      });
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, body }));
      incoming.on('close', () => resolve({ why: `${url} ended its answer too soon` }));
    });
    outgoing.on('error', (error) => {
      if (signal?.aborted) reject(signal.reason);
      else if (deadline.aborted) resolve({ why: `${url} did not answer within ${REQUEST_TIMEOUT_MS / 1000} s` });
      else resolve({ why: `${url}: ${error.message}` });
    });
    outgoing.end();
  });
}
