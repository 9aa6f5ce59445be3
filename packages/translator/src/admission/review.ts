import * as z from 'zod';
import { SecretObject } from '../cluster/objects.ts';
import { keptMark, MARKS, type Mark, translatedMark } from '../handover/mark.ts';

/** An AdmissionReview for a Secret (k8s api/admission/v1). */
const Review = z.looseObject({
  apiVersion: z.literal('admission.k8s.io/v1'),
  kind: z.literal('AdmissionReview'),
  request: z.looseObject({
    uid: z.string().min(1),
    operation: z.enum(['CREATE', 'UPDATE', 'DELETE', 'CONNECT']),
    namespace: z.string().optional(),
    dryRun: z.boolean().nullish(),
    userInfo: z.looseObject({ username: z.string().optional() }).nullish(),
    object: z.unknown().optional(),
    oldObject: z.unknown().optional(),
  }),
});

export interface AdmissionRequest {
  readonly uid: string;
  readonly namespace: string;
  /** Who writes the Secret; empty where the request does not say. */
  readonly user: string;
  readonly isDryRun: boolean;
  /** undefined = the request is about something that the translator never changes. */
  readonly secret: SecretObject | undefined;
  /** Of an update, the Secret before. */
  readonly before: SecretObject | undefined;
}

/** Reads an AdmissionReview. undefined = the body is not one. */
export function parseReview(body: string): AdmissionRequest | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined;
  }
  const { success, data } = Review.safeParse(value);
  if (!success) return undefined;
  const { uid, operation, namespace = '', dryRun, userInfo, object, oldObject } = data.request;
  const isWrite = operation === 'CREATE' || operation === 'UPDATE';
  const secret = isWrite ? SecretObject.safeParse(object) : undefined;
  const before = operation === 'UPDATE' ? SecretObject.safeParse(oldObject) : undefined;
  return {
    uid,
    namespace,
    user: userInfo?.username ?? '',
    isDryRun: dryRun === true,
    secret: secret?.data,
    before: before?.data,
  };
}

/** The answer that lets the Secret pass as it is. */
export function allowed(uid: string): object {
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid, allowed: true } };
}

/** The answer that replaces the user data of a Secret and marks it. */
export function translated(uid: string, secret: SecretObject, userData: string, mark: Mark): object {
  const value = Buffer.from(userData).toString('base64');
  return patched(uid, [
    { op: 'replace', path: '/data/value', value },
    ...annotated(secret, { ...keptMark(undefined), ...translatedMark(value, mark) }),
  ]);
}

/** The answer that keeps the user data, and says in an annotation why. */
export function kept(uid: string, secret: SecretObject, why: string): object {
  return patched(uid, annotated(secret, { ...translatedMark(undefined), ...keptMark(why) }));
}

/** Sets the annotations, and removes those that are undefined. */
function annotated(
  { metadata: { annotations } }: SecretObject,
  wanted: Readonly<Record<string, string | undefined>>,
): readonly object[] {
  const present = annotations ?? undefined;
  const set = MARKS.flatMap((name): [string, string][] => {
    const value = wanted[name];
    return value === undefined ? [] : [[name, value]];
  });
  if (present === undefined) return [{ op: 'add', path: '/metadata/annotations', value: Object.fromEntries(set) }];
  const pathOf = (name: string) => `/metadata/annotations/${name.replace('/', '~1')}`;
  return [
    ...set.map(([name, value]) => ({ op: 'add', path: pathOf(name), value })),
    ...MARKS.filter((name) => wanted[name] === undefined && present[name] !== undefined).map((name) => ({
      op: 'remove',
      path: pathOf(name),
    })),
  ];
}

function patched(uid: string, patch: readonly object[]): object {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid,
      allowed: true,
      patchType: 'JSONPatch',
      patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
    },
  };
}
