import type { AuditSection } from '@machineadm/document/sections/api-server/audit.ts';
import { isMap } from '../values/map.ts';
import type { Lifting } from './lifting.ts';

/** k/k staging/src/k8s.io/apiserver/pkg/server/options/audit.go */
const POLICY = 'audit-policy-file';
const LOG_PATH = 'audit-log-path';
const LIMITS = { 'audit-log-maxage': 'd', 'audit-log-maxbackup': '', 'audit-log-maxsize': 'Mi' } as const;

/**
 * Converts an audit policy file, with its arguments and volumes, to `controlPlane.apiServer.audit`. A missing limit
 * means none, for the API server as well as here: 0.
 */
export async function liftAudit(lifting: Lifting): Promise<void> {
  const { kubernetes } = lifting;
  const apiServer = kubernetes?.controlPlane?.apiServer;
  if (kubernetes === undefined || apiServer === undefined) return;
  const args = apiServer.args ?? [];
  const value = (name: string): string | undefined => args.find((one) => one.name === name)?.value;
  const path = value(POLICY);
  const file = lifting.files.find((one) => one.path === path);
  const known = new Set<string>([POLICY, LOG_PATH, ...Object.keys(LIMITS)]);
  const others = args.filter(({ name }) => name.startsWith('audit-') && !known.has(name));
  const isTwice = [...known].some((name) => args.filter((one) => one.name === name).length > 1);
  if (file === undefined || others.length > 0 || isTwice) return;
  const policy = policyOf(await lifting.yamlOf(file));
  const limits = Object.keys(LIMITS).map((name) => value(name));
  const logs = value(LOG_PATH);
  // "-" is standard output, for which the document has no field.
  if (policy === undefined || logs === '-') return;
  const [age, backups, size] = limits;
  const audit: AuditSection = {
    policy,
    log:
      logs === undefined
        ? undefined
        : {
            path: logs,
            maxAge: `${age ?? 0}d`,
            maxBackups: Number(backups ?? 0),
            maxSize: size === undefined ? undefined : `${size}Mi`,
          },
  };
  const below = (directory: string, target: string): boolean =>
    target === directory || target.startsWith(`${directory}/`);
  // The document mounts its own files; a volume that contained only these is removed with them.
  const serves = (mount: string): boolean => [file.path, logs ?? ''].some((target) => below(mount, target));
  const needed = (mount: string): boolean =>
    args.some(({ name, value: target }) => !known.has(name) && below(mount, target)) ||
    lifting.files.some((one) => one !== file && below(mount, one.path));
  const served = (apiServer.volumes ?? []).filter(({ mountPath }) => serves(mountPath) && !needed(mountPath));
  // At another path on the machine than the document's.
  if (served.some(({ hostPath, mountPath }) => hostPath !== mountPath)) return;
  const volumes = (apiServer.volumes ?? []).filter((volume) => !served.includes(volume));
  lifting.takeFile(file, 'kubernetes.controlPlane.apiServer.audit');
  const left = args.filter(({ name }) => !known.has(name));
  lifting.kubernetes = {
    ...kubernetes,
    controlPlane: {
      ...kubernetes.controlPlane,
      apiServer: {
        ...apiServer,
        args: left.length === 0 ? undefined : left,
        volumes: volumes.length === 0 ? undefined : volumes,
        audit,
      },
    },
  };
}

function policyOf(policy: unknown): AuditSection['policy'] | undefined {
  if (!isMap(policy) || policy.kind !== 'Policy' || typeof policy.apiVersion !== 'string') return undefined;
  if (!policy.apiVersion.startsWith('audit.k8s.io/')) return undefined;
  const { apiVersion: _apiVersion, kind: _kind, metadata = {}, ...rest } = policy;
  // Has no effect on the API server, but was written on purpose.
  if (Object.values(Object(metadata)).some((value) => value !== null)) return undefined;
  return rest as AuditSection['policy'];
}
