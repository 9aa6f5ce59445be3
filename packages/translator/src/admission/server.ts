import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { validateReview } from '../provider/admission.ts';
import { errorText, type Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { answerHook, isHook } from '../updates/hooks.ts';
import type { Updates } from '../updates/update.ts';
import type { Callers } from './caller.ts';
import { type Answer, admit, type Outcome, type Translator } from './handler.ts';
import { ReceivedBodies } from './received.ts';
import { parseReview } from './review.ts';

/** A body that takes longer is not that of an API server. */
const BODY_MS = 5_000;
/** The group that the front proxy calls, where it is used (packaging/translator/front-proxy). */
const AGGREGATED = '/apis/translator.machineadm.dev/v1';
/** What the aggregation layer asks to know whether the translator is there. */
const DISCOVERY = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: 'translator.machineadm.dev/v1',
  resources: [
    { name: 'reviews', singularName: 'review', namespaced: false, kind: 'AdmissionReview', verbs: ['create'] },
    { name: 'validations', singularName: 'validation', namespaced: false, kind: 'AdmissionReview', verbs: ['create'] },
  ],
};

/** Answers the body of a request; undefined where it is no review of its kind. */
type Answerer = (body: string, deadline: AbortSignal) => Promise<object | undefined>;

export interface AdmissionLimits {
  /** A translation that takes longer leaves the Secret as it is. Shorter than the timeout of the webhook. */
  readonly deadlineMs: number;
  readonly bodyMs?: number;
}

/**
 * What the aggregation layer of an API server asks every minute of a server that is registered as an APIService, and can do
 * without (observed with 1.36): neither a refusal nor worth a line of the log.
 */
const OF_AGGREGATION = /^\/(?:openapi\/v[23]|apis?)$/;

/** Listens for AdmissionReviews. A request that nobody proved to come from the API server ends before its body is read. */
export function admissionListener(
  translator: Translator,
  callers: Callers,
  { deadlineMs, bodyMs = BODY_MS }: AdmissionLimits,
  log: Log,
  metrics: Metrics,
  updates?: Updates,
): RequestListener {
  const bodies = new ReceivedBodies();
  const refuse = (response: ServerResponse, status: number, message: string): void => {
    metrics.rejectedRequests.inc();
    log('warn', 'request refused', { status, reason: message });
    // The rest of a body is not read.
    respond(response, status, { message }, { connection: 'close' });
  };
  const translate: Answerer = async (body, deadline) => {
    const review = parseReview(body);
    if (review === undefined) return undefined;
    const stop = metrics.admissionSeconds.startTimer();
    const given = await admit(review, translator, deadline);
    stop();
    metrics.admissions.inc({ outcome: outcomeName(given.outcome) });
    tell(log, review.namespace, review.secret?.metadata.name, given);
    return given.review;
  };
  const validate: Answerer = (body, deadline) =>
    validateReview(body, translator.conversions, translator.version, deadline);
  const answerers: ReadonlyMap<string | undefined, Answerer> = new Map([
    ['/translate', translate],
    [`${AGGREGATED}/reviews`, translate],
    ['/validate', validate],
    [`${AGGREGATED}/validations`, validate],
  ]);
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url?.split('?')[0];
    if (path === AGGREGATED && request.method === 'GET') return respond(response, 200, DISCOVERY);
    if (request.method === 'GET' && OF_AGGREGATION.test(path ?? ''))
      return respond(response, 404, { message: 'not found' });
    const isForHook = updates !== undefined && isHook(path);
    const answerer = isForHook
      ? (body: string, deadline: AbortSignal) => answerHook(path, body, updates, deadline, log)
      : answerers.get(path);
    if (answerer === undefined) return refuse(response, 404, 'not found');
    if (request.method !== 'POST') return refuse(response, 405, 'only POST is allowed');
    const deadline = AbortSignal.timeout(deadlineMs);
    // Hooks are called by Cluster API, which has no certificate of the API server; they trust nothing that it says.
    const unproven = isForHook ? undefined : await callers.refusal(request, deadline);
    if (unproven !== undefined) return refuse(response, 401, unproven);
    const read = await bodies.read(request, bodyMs, async (body) => {
      const review = await answerer(new TextDecoder().decode(body), deadline);
      if (review !== undefined) respond(response, 200, review);
      return review !== undefined;
    });
    if ('unread' in read) return refuse(response, read.unread.status, read.unread.message);
    const expected = isForHook ? 'a request of a runtime hook' : 'an AdmissionReview of admission.k8s.io/v1';
    if (!read.used) refuse(response, 400, `the body is not ${expected}`);
  };
  return (request, response) => {
    // Its client is gone.
    response.on('error', () => undefined);
    answer(request, response).catch((error: unknown) => {
      log('error', 'request failed', { error: errorText(error) });
      if (!response.headersSent) respond(response, 500, { message: 'internal error' }, { connection: 'close' });
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

function respond(
  response: ServerResponse,
  status: number,
  value: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = JSON.stringify(value);
  response
    .writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...headers,
    })
    .end(body);
}
