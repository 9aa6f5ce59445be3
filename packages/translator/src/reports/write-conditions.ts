import * as z from 'zod';
import type { Api } from '../cluster/api.ts';
import type { KubernetesObject } from '../cluster/objects.ts';
import { pathOf } from '../cluster/related.ts';
import { type Condition, conditionsToApply, type Judged } from './conditions.ts';

const Present = z.array(
  z.looseObject({
    type: z.string(),
    status: z.enum(['True', 'False', 'Unknown']),
    reason: z.string().default(''),
    message: z.string().default(''),
    lastTransitionTime: z.string(),
    observedGeneration: z.number().optional(),
  }),
);
const WithStatus = z.looseObject({
  status: z
    .looseObject({
      conditions: z.unknown().optional(),
      v1beta2: z.looseObject({ conditions: z.unknown().optional() }).nullish(),
    })
    .nullish(),
});

/** The conditions that an object has, in the form of v1beta2. */
export function presentConditions(object: KubernetesObject): readonly Condition[] {
  const status = WithStatus.safeParse(object).data?.status;
  const isOld = object.apiVersion.endsWith('/v1beta1');
  const { data = [] } = Present.safeParse((isOld ? status?.v1beta2?.conditions : status?.conditions) ?? []);
  return data;
}

/**
 * Writes conditions to the status of an object by server-side apply, where they differ. Conditions of others stay as they
 * are. In v1beta1 these conditions are in `status.v1beta2` (cluster-api api/core/v1beta1, V1Beta2 fields; since 1.9).
 *
 * @param manager owns these conditions; one manager must always write the same types
 * @returns whether anything was written
 */
export async function writeConditions(
  api: Api,
  kind: 'Machine' | 'KubeadmConfig',
  object: KubernetesObject,
  wanted: readonly Judged[],
  manager: string,
): Promise<boolean> {
  if (wanted.length === 0) return false;
  const { apiVersion, metadata } = object;
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
  const isOld = version === 'v1beta1';
  const conditions = conditionsToApply(wanted, presentConditions(object), new Date());
  if (conditions === undefined) return false;
  const { name, namespace = '', uid } = metadata;
  await api.request({
    method: 'PATCH',
    path: `${pathOf(kind, version, namespace, name)}/status`,
    query: { fieldManager: manager, force: 'true' },
    contentType: 'application/apply-patch+yaml',
    // With the uid: an object of the same name that was created since is not written to.
    body: {
      apiVersion,
      kind,
      metadata: { name, namespace, uid },
      status: isOld ? { v1beta2: { conditions } } : { conditions },
    },
  });
  return true;
}
