import { dirname } from 'node:path/posix';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { API_SERVER_DIRECTORY_MODE, ENCRYPTION_CONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { Host, NewFile, QueryHost } from '../../host/seam/host.ts';
import { apiServerFiles, apiServerPaths, apiServerSecrets } from '../../kubernetes/api-server/files.ts';
import { requireKmsSockets } from '../../kubernetes/api-server/kms-sockets.ts';
import { writeApiServerFile } from '../../kubernetes/api-server/write-file.ts';
import { resolveSecrets } from '../../kubernetes/secrets.ts';
import { actionOf, differenceOf } from '../../owned-files/difference.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import { requirementOf } from '../../step/requirement-of.ts';

export interface ControlPlaneFilesActual {
  /** The differences to the document, in words. */
  readonly different: readonly { readonly path: string; readonly how: string }[];
  /** False where resolving a secret has side effects, which a read-only host must not cause. */
  readonly known: boolean;
  /** The directory of the audit log, where it must be created. */
  readonly logDirectory: string | undefined;
}

/** Only the path of the file. Its content can contain keys, so it is resolved again when it is written. */
export type ControlPlaneFilesPayload =
  | { readonly kind: 'file'; readonly kubernetes: KubernetesModel; readonly path: string }
  | { readonly kind: 'directory'; readonly path: string };

/**
 * The files that a control plane's API server reads: audit policy, encryption configuration, webhooks, … They must
 * exist before kubeadm starts it, and be the same on each control plane of a cluster. Settings that the API server
 * would refuse are refused first. After the bootstrap they change together with the API server only, in the step
 * api-server.
 */
export const controlPlaneFiles: FeatureStep<KubernetesModel, ControlPlaneFilesActual, ControlPlaneFilesPayload> = {
  id: 'control-plane-files',
  section: 'kubernetes.controlPlane',
  isRequested: STAYS,

  desired({ kubernetes }) {
    if (kubernetes === undefined || kubernetes.exec !== undefined) return undefined;
    return apiServerPaths(kubernetes).length === 0 ? undefined : kubernetes;
  },

  async preflight(host, kubernetes, record) {
    if (record?.bootstrap === 'done') return [];
    return [
      ...(await requirementOf(missingLogDirectory(host, kubernetes))),
      ...(await requirementOf(resolvedFiles(host, kubernetes))),
    ];
  },

  secrets: apiServerSecrets,

  async inspect(host, kubernetes, record) {
    if (record.bootstrap === 'done') return { different: [], known: true, logDirectory: undefined };
    const logDirectory = await missingLogDirectory(host, kubernetes);
    const files = await resolvedFiles(host, kubernetes);
    if (files === undefined) {
      const different = apiServerPaths(kubernetes).map((path) => ({ path, how: 'compare and write' }));
      return { different, known: false, logDirectory };
    }
    const different: { path: string; how: string }[] = [];
    for (const file of files) {
      const how = await differenceOf(host, file);
      if (how !== undefined) different.push({ path: file.path, how });
    }
    return { different, known: true, logDirectory };
  },

  plan(kubernetes, { different, known, logDirectory }) {
    const directory =
      logDirectory === undefined
        ? []
        : [
            {
              id: `control-plane-files/${logDirectory}`,
              summary: `${logDirectory}: create the directory of the audit log, 0700`,
              action: 'add' as const,
              scope: 'node' as const,
              payload: { kind: 'directory' as const, path: logDirectory },
            },
          ];
    const files = different.map(({ path, how }) => ({
      id: `control-plane-files/${path}`,
      summary: `${path}: ${how}`,
      action: actionOf(how),
      scope: 'node' as const,
      ...(known ? {} : { knownAfter: 'secrets' as const }),
      ineffective: 'FileNotWritten' as const,
      payload: { kind: 'file' as const, kubernetes, path },
    }));
    return [...directory, ...files];
  },

  async apply(host, { payload }) {
    if (payload.kind === 'directory') return await host.makeDirectory(payload.path, API_SERVER_DIRECTORY_MODE);
    const { kubernetes, path } = payload;
    if (path === ENCRYPTION_CONFIG) await requireKmsSockets(host, kubernetes);
    const file = (await resolvedFiles(host, kubernetes)).find((one) => one.path === path);
    if (file !== undefined) await writeApiServerFile(host, file);
  },

  async settled(host, kubernetes) {
    for (const directory of new Set(apiServerPaths(kubernetes).map((path) => dirname(path))))
      await host.sync(directory);
  },
};

async function resolvedFiles(host: Host, kubernetes: KubernetesModel): Promise<readonly NewFile[]>;
async function resolvedFiles(host: QueryHost, kubernetes: KubernetesModel): Promise<readonly NewFile[] | undefined>;
async function resolvedFiles(host: QueryHost, kubernetes: KubernetesModel): Promise<readonly NewFile[] | undefined> {
  const secrets = await resolveSecrets(host, apiServerSecrets(kubernetes));
  return secrets === undefined ? undefined : apiServerFiles(kubernetes, secrets);
}

/** The directory of the audit log, where it does not exist; it records who did what, and is restricted to root. */
async function missingLogDirectory(host: QueryHost, kubernetes: KubernetesModel): Promise<string | undefined> {
  const { log } = kubernetes.controlPlane.apiServer.audit ?? {};
  if (log === undefined) return undefined;
  const directory = dirname(log.path);
  const stat = await host.stat(directory);
  if (stat === undefined) return directory;
  const { stdout } = await host.query({
    program: 'findmnt',
    args: ['--noheadings', '--first-only', '--output', 'OPTIONS', '--target', directory],
  });
  const readOnly = stdout.trim().split(',').includes('ro');
  if (stat.type === 'directory' && !readOnly) return undefined;
  throw new MachineadmError({
    reason: readOnly ? 'ReadOnlyFilesystem' : 'FileNotWritten',
    summary: `The API server could not write its audit log to ${log.path}: ${directory} is ${readOnly ? 'on a read-only file system' : `a ${stat.type}`}.`,
    remedy: 'Mount it writable, or change kubernetes.controlPlane.apiServer.audit.log.path.',
    evidence: [{ source: directory, text: readOnly ? stdout.trim() : stat.type }],
  });
}
