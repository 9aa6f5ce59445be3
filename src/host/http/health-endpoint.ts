import { requestOnce } from './request-once.ts';

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
  const deadline = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  const either = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
  try {
    return await requestOnce(new URL(url), { rejectUnauthorized: false, largest: LARGEST_BODY, signal: either });
  } catch (error) {
    signal?.throwIfAborted();
    if (deadline.aborted) return { why: `${url} did not answer within ${REQUEST_TIMEOUT_MS / 1000} s` };
    return { why: `${url}: ${error instanceof Error ? error.message : String(error)}` };
  }
}
