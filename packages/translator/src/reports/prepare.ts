import * as z from 'zod';
import { type Api, isStatus } from '../cluster/api.ts';
import { KubernetesObject } from '../cluster/objects.ts';
import { isOwnedBy, REPORT_LABEL, reportName } from './objects.ts';

const Existing = z.looseObject({
  metadata: KubernetesObject.shape.metadata,
  data: z.record(z.string(), z.unknown()).nullish(),
});

/**
 * Creates what one machine needs to report to this cluster, all owned by its Machine: a ConfigMap, a ServiceAccount, a
 * Role that may patch this one ConfigMap, and a RoleBinding. What exists already and belongs to this Machine is used as it
 * is; what belongs to anything else is never touched, and an error. So is a ConfigMap that has a report before the account
 * exists: no machine can have written it, but whoever may create ConfigMaps can.
 */
export async function prepareReport(api: Api, machine: KubernetesObject, signal: AbortSignal): Promise<void> {
  const { name: machineName, namespace = '', uid } = machine.metadata;
  const name = reportName(machineName);
  const owner = { apiVersion: machine.apiVersion, kind: machine.kind, name: machineName, uid };
  const metadata = { name, namespace, ownerReferences: [owner] };
  const group = 'rbac.authorization.k8s.io';
  const core = `/api/v1/namespaces/${namespace}`;
  const rbac = `/apis/${group}/v1/namespaces/${namespace}`;
  const objects = [
    [`${core}/configmaps`, { metadata: { ...metadata, labels: { [REPORT_LABEL]: 'true' } } }],
    [
      `${rbac}/roles`,
      // Only patch: the answer to a patch shows the object anyway, and RBAC cannot limit create to a name.
      { metadata, rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [name], verbs: ['patch'] }] },
    ],
    [
      `${rbac}/rolebindings`,
      {
        metadata,
        roleRef: { apiGroup: group, kind: 'Role', name },
        subjects: [{ kind: 'ServiceAccount', namespace, name }],
      },
    ],
    // Last: once it exists, the machine gets a token.
    [`${core}/serviceaccounts`, { metadata, automountServiceAccountToken: false }],
  ] as const;
  for (const [path, object] of objects) {
    const existing = await createOwned(api, path, name, object, machine, signal);
    const hasReport = Object.keys(existing?.data ?? {}).length > 0;
    if (hasReport && !(await isThere(api, `${core}/serviceaccounts/${name}`, signal))) {
      throw new Error(`${path}/${name} has a report that no machine wrote`);
    }
  }
}

async function isThere(api: Api, path: string, signal: AbortSignal): Promise<boolean> {
  try {
    await api.request({ path, signal });
    return true;
  } catch (error) {
    if (isStatus(error, 404)) return false;
    throw error;
  }
}

/** Gives the object that was there before; undefined = it was created. */
async function createOwned(
  api: Api,
  path: string,
  name: string,
  object: object,
  machine: KubernetesObject,
  signal: AbortSignal,
): Promise<z.infer<typeof Existing> | undefined> {
  try {
    await api.request({ method: 'POST', path, body: object, signal });
    return undefined;
  } catch (error) {
    if (!isStatus(error, 409)) throw error;
    const existing = Existing.parse(await api.request({ path: `${path}/${name}`, signal }));
    if (!isOwnedBy(existing, machine)) throw new Error(`${path}/${name} exists and does not belong to this Machine`);
    return existing;
  }
}
