import { errorMessage } from '@machineadm/document/errors.ts';
import * as z from 'zod';
import { type Api, isStatus } from '../cluster/api.ts';
import { KubernetesObject } from '../cluster/objects.ts';
import { Kept } from '../kept.ts';
import type { Profile } from '../profiles.ts';
import type { ReportSink } from '../translate.ts';

/** The label of every ConfigMap that holds a report, and the prefix of its name (packaging/management-cluster). */
export const REPORT_LABEL = 'machineadm.dev/report';
export const REPORT_PREFIX = 'machineadm-report-';

const TokenRequest = z.looseObject({ status: z.looseObject({ token: z.string().min(1) }) });

/**
 * Creates what one machine needs to report to this cluster, all owned by its Machine: a ConfigMap, a ServiceAccount, a
 * Role that may patch this one ConfigMap, a RoleBinding; and a token that expires. What exists already and belongs to
 * this Machine is used as it is; what belongs to anything else is never touched. Throws `Kept` with `CredentialFailed`.
 */
export async function mintReportCredential(
  api: Api,
  machine: KubernetesObject,
  report: NonNullable<Profile['report']>,
  signal: AbortSignal,
): Promise<ReportSink> {
  const { name: machineName, namespace = '', uid } = machine.metadata;
  if (machine.kind !== 'Machine' || uid === undefined) {
    throw new Kept(
      'CredentialFailed',
      `${machine.kind} ${machineName}: only a Machine can have a report; set the annotation machineadm.dev/bootstrap-report to None`,
    );
  }
  const certificateAuthority = report.certificateAuthority ?? api.certificateAuthority;
  if (certificateAuthority === undefined) {
    throw new Kept('CredentialFailed', 'report.certificateAuthority: the machines need the authority of report.server');
  }
  const name = `${REPORT_PREFIX}${machineName}`;
  const owner = { apiVersion: machine.apiVersion, kind: machine.kind, name: machineName, uid };
  const metadata = { name, namespace, ownerReferences: [owner] };
  const group = 'rbac.authorization.k8s.io';
  const core = `/api/v1/namespaces/${namespace}`;
  const rbac = `/apis/${group}/v1/namespaces/${namespace}`;
  const objects = [
    [`${core}/configmaps`, { metadata: { ...metadata, labels: { [REPORT_LABEL]: 'true' } } }],
    [`${core}/serviceaccounts`, { metadata, automountServiceAccountToken: false }],
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
  ] as const;
  try {
    // One after the other: a RoleBinding is refused until its Role exists.
    for (const [path, object] of objects) await createOwned(api, path, name, object, uid, signal);
    const answer = await api.request({
      method: 'POST',
      path: `${core}/serviceaccounts/${name}/token`,
      body: {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { expirationSeconds: report.tokenSeconds },
      },
      signal,
    });
    const { token } = TokenRequest.parse(answer).status;
    return { server: report.server, certificateAuthority, token, namespace, name };
  } catch (error) {
    if (error instanceof Kept) throw error;
    throw new Kept('CredentialFailed', errorMessage(error));
  }
}

async function createOwned(
  api: Api,
  path: string,
  name: string,
  object: object,
  uid: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await api.request({ method: 'POST', path, body: object, signal });
  } catch (error) {
    if (!isStatus(error, 409)) throw error;
    const { metadata } = Existing.parse(await api.request({ path: `${path}/${name}`, signal }));
    if (metadata.ownerReferences?.some((one) => one.uid === uid)) return;
    throw new Kept('CredentialFailed', `${path}/${name} exists and does not belong to this Machine`);
  }
}

const Existing = z.looseObject({ metadata: KubernetesObject.shape.metadata });
