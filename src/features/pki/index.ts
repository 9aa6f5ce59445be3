import { dirname } from 'node:path/posix';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import type { SecretValue } from '@machineadm/document/secrets/secret.ts';
import { secretsIn } from '@machineadm/document/secrets/secret-values.ts';
import type { Host, NewFile, QueryHost } from '../../host/seam/host.ts';
import { checkPki, pkiFiles } from '../../kubernetes/pki.ts';
import { resolveSecrets } from '../../kubernetes/secrets.ts';
import { actionOf, differenceOf } from '../../owned-files/difference.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import { requirementOf } from '../../step/requirement-of.ts';

export interface PkiActual {
  /** Files that differ from the document, and how. */
  readonly different: readonly { readonly path: string; readonly how: string }[];
  /** False where resolving a secret has side effects, which a read-only host must not cause. */
  readonly known: boolean;
}

/** Names the file only: its content, which may be a key, is resolved again when it is written. */
export interface PkiPayload {
  readonly kubernetes: KubernetesModel;
  readonly path: string;
}

/**
 * Certificates and keys of the document, checked before the first of them is written: kubeadm would notice some
 * mistakes half-way, and only warn about others. After the bootstrap they belong to the cluster (kubeadm renews
 * certificates in these files), so this step leaves them alone.
 */
export const pki: FeatureStep<KubernetesModel, PkiActual, PkiPayload> = {
  id: 'pki',
  section: 'kubernetes.pki',
  isRequested: STAYS,

  desired(model) {
    const { kubernetes } = model;
    if (kubernetes === undefined || kubernetes.exec !== undefined) return undefined;
    return pkiFiles({ kubernetes, secrets: () => '' }).length === 0 ? undefined : kubernetes;
  },

  async preflight(host, kubernetes, record) {
    return record?.bootstrap === 'done' ? [] : await requirementOf(checkedFiles(host, kubernetes));
  },

  secrets: (kubernetes) => secretsIn(kubernetes.pki),

  async inspect(host, kubernetes, record) {
    if (record.bootstrap === 'done') return { different: [], known: true };
    const files = await checkedFiles(host, kubernetes);
    if (files === undefined) {
      const paths = pkiFiles({ kubernetes, secrets: () => '' }).map(({ path }) => path);
      return { different: paths.map((path) => ({ path, how: 'compare and write' })), known: false };
    }
    const different: { path: string; how: string }[] = [];
    for (const file of files) {
      const how = await differenceOf(host, file);
      if (how !== undefined) different.push({ path: file.path, how });
    }
    return { different, known: true };
  },

  plan(kubernetes, { different, known }) {
    return different.map(({ path, how }) => ({
      id: `pki/${path}`,
      summary: `${path}: ${how}`,
      action: actionOf(how),
      scope: 'node',
      ...(known ? {} : { knownAfter: 'secrets' as const }),
      ineffective: 'FileNotWritten',
      payload: { kubernetes, path },
    }));
  },

  async apply(host, { payload }) {
    const file = (await checkedFiles(host, payload.kubernetes)).find(({ path }) => path === payload.path);
    if (file !== undefined) await host.writeFile(file);
  },

  async settled(host, kubernetes) {
    const paths = pkiFiles({ kubernetes, secrets: () => '' }).map(({ path }) => path);
    for (const directory of new Set(paths.map((path) => dirname(path)))) await host.sync(directory);
  },
};

async function checkedFiles(host: Host, kubernetes: KubernetesModel): Promise<readonly NewFile[]>;
async function checkedFiles(host: QueryHost, kubernetes: KubernetesModel): Promise<readonly NewFile[] | undefined>;
async function checkedFiles(host: QueryHost, kubernetes: KubernetesModel): Promise<readonly NewFile[] | undefined> {
  const wanted: SecretValue[] = [];
  pkiFiles({
    kubernetes,
    secrets: (value) => {
      wanted.push(value);
      return '';
    },
  });
  const secrets = await resolveSecrets(host, wanted);
  if (secrets === undefined) return undefined;
  checkPki({ kubernetes, secrets, now: new Date() });
  return pkiFiles({ kubernetes, secrets });
}
