import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { errorText, type Log } from '../service/log.ts';
import type { Metrics } from '../service/metrics.ts';
import { type Answer, admit, type Outcome, type Translator } from './handler.ts';
import { parseReview } from './review.ts';

/** A Secret has at most 1 MiB, in base64 and twice in an update (old and new). */
const LARGEST_REVIEW = 4 * 1024 * 1024;
/** What all reviews in flight may hold in memory together. More are refused, and pass untranslated. */
const LARGEST_IN_FLIGHT = 32 * 1024 * 1024;

export interface AdmissionLimits {
  /** A translation that takes longer leaves the Secret as it is. Shorter than the timeout of the webhook. */
  readonly deadlineMs: number;
}

/** Listens for AdmissionReviews at `/translate`. */
export function admissionListener(
  translator: Translator,
  { deadlineMs }: AdmissionLimits,
  log: Log,
  metrics: Metrics,
  record: (outcome: Outcome) => void,
): RequestListener {
  let inFlight = 0;
  return (request, response) => {
    const refuse = (status: number, message: string): void => {
      metrics.rejectedRequests.inc();
      log('warn', 'request refused', { status, reason: message });
      respond(response, status, { message });
      request.resume();
    };
    if (request.url?.split('?')[0] !== '/translate') return refuse(404, 'not found');
    if (request.method !== 'POST') return refuse(405, 'only POST is allowed');
    const declared = Number(request.headers['content-length'] ?? LARGEST_REVIEW);
    if (!(declared <= LARGEST_REVIEW)) return refuse(413, 'the review is too large');
    if (inFlight + declared > LARGEST_IN_FLIGHT) return refuse(503, 'too many reviews at once');
    inFlight += declared;
    const work = async (): Promise<void> => {
      const body = await bodyOf(request, declared);
      const review = body === undefined ? undefined : parseReview(body);
      if (review === undefined) return refuse(400, 'the body is not an AdmissionReview of admission.k8s.io/v1');
      const stop = metrics.admissionSeconds.startTimer();
      const answer = await admit(review, translator, AbortSignal.timeout(deadlineMs));
      respond(response, 200, answer.review);
      stop();
      metrics.admissions.inc({ outcome: outcomeName(answer.outcome) });
      tell(log, review.namespace, review.secret?.metadata.name, answer);
      if (!review.isDryRun) record(answer.outcome);
    };
    work()
      .catch((error: unknown) => {
        log('error', 'request failed', { error: errorText(error) });
        if (!response.headersSent) respond(response, 500, { message: 'internal error' });
      })
      .finally(() => {
        inFlight -= declared;
      });
  };
}

function outcomeName(outcome: Outcome): string {
  return outcome.kind === 'Kept' ? outcome.error.reason : outcome.kind;
}

function tell(log: Log, namespace: string, secret: string | undefined, { outcome }: Answer): void {
  const fields = { namespace, secret, outcome: outcomeName(outcome) };
  if (outcome.kind === 'Kept') log('warn', 'Secret kept as it is', { ...fields, error: errorText(outcome.error) });
  else if (outcome.kind === 'Translated') log('info', 'Secret translated', { ...fields, codes: outcome.codes });
}

/** The body, or undefined where it is longer than declared or allowed, or not UTF-8. */
async function bodyOf(request: IncomingMessage, declared: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) return undefined;
    size += chunk.length;
    if (size > declared) return undefined;
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

function respond(response: ServerResponse, status: number, value: object): void {
  const body = JSON.stringify(value);
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    .end(body);
}
