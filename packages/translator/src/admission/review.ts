import { createHash } from 'node:crypto';
import * as z from 'zod';
import { SecretObject } from '../cluster/objects.ts';

/** An AdmissionReview for a Secret (k8s api/admission/v1). */
const Review = z.looseObject({
  apiVersion: z.literal('admission.k8s.io/v1'),
  kind: z.literal('AdmissionReview'),
  request: z.looseObject({
    uid: z.string().min(1),
    operation: z.enum(['CREATE', 'UPDATE', 'DELETE', 'CONNECT']),
    namespace: z.string().optional(),
    dryRun: z.boolean().nullish(),
    object: z.unknown().optional(),
    oldObject: z.unknown().optional(),
  }),
});

export interface AdmissionRequest {
  readonly uid: string;
  readonly namespace: string;
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
  const { uid, operation, namespace = '', dryRun, object, oldObject } = data.request;
  const isWrite = operation === 'CREATE' || operation === 'UPDATE';
  const secret = isWrite ? SecretObject.safeParse(object) : undefined;
  const before = operation === 'UPDATE' ? SecretObject.safeParse(oldObject) : undefined;
  return { uid, namespace, isDryRun: dryRun === true, secret: secret?.data, before: before?.data };
}

/** The annotation that marks a translated Secret: `sha256:` of its value, and the version of the translator. */
export const TRANSLATED = 'machineadm.dev/translated';

/** The mark for a value in base64. */
export function markOf(value: string): string {
  return `sha256:${createHash('sha256').update(Buffer.from(value, 'base64')).digest('hex')}`;
}

/** The answer that lets the Secret pass as it is. */
export function allowed(uid: string): object {
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid, allowed: true } };
}

/** The answer that replaces the user data of a Secret and marks it. */
export function translated(uid: string, secret: SecretObject, userData: string): object {
  const value = Buffer.from(userData).toString('base64');
  const annotation = TRANSLATED.replace('/', '~1');
  const patch = [
    { op: 'replace', path: '/data/value', value },
    secret.metadata.annotations === undefined || secret.metadata.annotations === null
      ? { op: 'add', path: '/metadata/annotations', value: { [TRANSLATED]: markOf(value) } }
      : { op: 'add', path: `/metadata/annotations/${annotation}`, value: markOf(value) },
  ];
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
