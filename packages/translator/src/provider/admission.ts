import * as z from 'zod';
import type { Conversions } from '../conversions/pool.ts';
import { Kept } from '../handover/kept.ts';
import { configOf, KIND, VERSION } from './objects.ts';

/** An AdmissionReview for a MachineadmConfig or a MachineadmConfigTemplate (k8s api/admission/v1). */
const Review = z.looseObject({
  apiVersion: z.literal('admission.k8s.io/v1'),
  kind: z.literal('AdmissionReview'),
  request: z.looseObject({
    uid: z.string().min(1),
    namespace: z.string().default(''),
    kind: z.looseObject({ group: z.string(), version: z.string(), kind: z.string() }),
    object: z.unknown().optional(),
    oldObject: z.unknown().optional(),
  }),
});
const Written = z.looseObject({
  metadata: z.looseObject({ name: z.string().optional(), deletionTimestamp: z.string().nullish() }).default({}),
  spec: z.looseObject({ template: z.looseObject({ spec: z.unknown().optional() }).optional() }).optional(),
});

/** Lines of a message: the API server cuts no message, but nobody reads more. */
const MOST_PROBLEMS = 20;

/**
 * The AdmissionReview that says whether a MachineadmConfig or its template may be stored. undefined: the body is none. What is on its way
 * out, or keeps its spec, always may: nothing here stops the end of an object. Throws what the conversion throws.
 */
export async function validateReview(
  body: string,
  conversions: Conversions,
  agentVersion: string,
  deadline: AbortSignal,
): Promise<object | undefined> {
  const request = reviewOf(body);
  if (request === undefined) return undefined;
  const { namespace, object, oldObject } = request;
  const written = Written.safeParse(object ?? {}).data;
  const before = Written.safeParse(oldObject ?? {}).data;
  const isKept = oldObject !== undefined && JSON.stringify(written?.spec) === JSON.stringify(before?.spec);
  if (written === undefined || isKept || (written.metadata.deletionTimestamp ?? undefined) !== undefined) {
    return answered(request, '', []);
  }
  const isTemplate = request.kind.kind === `${KIND}Template`;
  const spec = isTemplate ? written.spec?.template?.spec : written.spec;
  const problems = await problemsOf(spec ?? {}, namespace, conversions, agentVersion, deadline);
  return answered(request, written.metadata.name ?? '', isTemplate ? problems.map(inTemplate) : problems);
}

type Reviewed = z.infer<typeof Review>['request'];

function reviewOf(body: string): Reviewed | undefined {
  try {
    const { request } = Review.parse(JSON.parse(body));
    const { group, version, kind } = request.kind;
    const isOurs = group === 'bootstrap.cluster.x-k8s.io' && version === VERSION;
    return isOurs && (kind === KIND || kind === `${KIND}Template`) ? request : undefined;
  } catch {
    return undefined;
  }
}

async function problemsOf(
  spec: unknown,
  namespace: string,
  conversions: Conversions,
  agentVersion: string,
  deadline: AbortSignal,
): Promise<readonly string[]> {
  try {
    const config = configOf({ metadata: { name: 'machine', namespace }, spec });
    return await conversions.configProblems(namespace, deadline, config, agentVersion);
  } catch (error) {
    // What the definition's own schema refuses, too.
    if (error instanceof z.ZodError) return error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    if (error instanceof Kept && error.reason === 'TooExpensive') return [`spec.document: ${error.message}`];
    throw error;
  }
}

function inTemplate(problem: string): string {
  return problem.startsWith('spec') ? `spec.template.${problem}` : problem;
}

function answered({ uid, kind: { group, kind } }: Reviewed, name: string, problems: readonly string[]): object {
  const more = problems.length > MOST_PROBLEMS ? [`and ${problems.length - MOST_PROBLEMS} more`] : [];
  const told = problems.slice(0, MOST_PROBLEMS);
  const message = [...told, ...more].join('; ');
  // `kubectl create` prints these, and not the message.
  const causes = told.map((problem) => {
    const [, field = '', text = problem] = /^(\S+): (.*)$/s.exec(problem) ?? [];
    return { reason: 'FieldValueInvalid', field, message: text };
  });
  const details = { group, kind, name, causes };
  const response =
    problems.length === 0
      ? { uid, allowed: true }
      : { uid, allowed: false, status: { status: 'Failure', code: 422, reason: 'Invalid', message, details } };
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response };
}
