import type { Model } from '@machineadm/document/model.ts';
import { type MergeOptions, mergedDocument } from '../conversions/translate.ts';
import { withoutValues } from '../provider/check.ts';
import type { Config } from '../provider/objects.ts';
import { documentProblems, renderDocument } from '../provider/render.ts';

/** A MachineadmConfig at one time, with the version of its Machine. */
export interface Dated {
  readonly config: Config;
  readonly version: string;
}

const AUTHORITY = `sha256:${'0'.repeat(64)}`;

/**
 * Why `machineadm upgrade` could not make one document of the other on a node, by the documents alone; undefined: nothing is
 * against it. It is the comparison that the node makes, with the same code.
 */
export async function configUpdateProblem(
  current: Dated,
  desired: Dated,
  merge: MergeOptions,
): Promise<string | undefined> {
  const [problem] = documentProblems(desired.config);
  if (problem !== undefined) return problem;
  const before = await loaded(current, merge);
  const after = await loaded(desired, merge);
  if (after.model.kubernetes?.exec !== undefined) return 'only nodes that kubeadm made are updated in place';
  if (after.model.host.platform !== 'linux') return 'machines with Windows are not updated in place';
  if ((await before.lastingDigestWith(desired.version)) !== after.lastingDigest) {
    return 'spec.document.kubernetes changes in a field that a node cannot change';
  }
  if (current.version === desired.version || bringsPrograms(after.model)) return undefined;
  return 'nothing in spec.document and the profile brings kubeadm and the kubelet of another version: host.files (also with unpack) or host.hooks';
}

/** What an archive or a hook brings is known on the node, which looks before it begins. */
function bringsPrograms({ host: { files, archives, hooks } }: Model): boolean {
  const names = files.map(({ path }) => path.slice(path.lastIndexOf('/') + 1));
  const hasHooks = [hooks.early, hooks.beforeBootstrap, hooks.afterBootstrap].some((group) => group !== undefined);
  return archives.length > 0 || hasHooks || ['kubeadm', 'kubelet'].every((program) => names.includes(program));
}

async function loaded({ config, version }: Dated, merge: MergeOptions) {
  const document = renderDocument(config, {
    version,
    endpoint: 'control-plane:6443',
    caCertHashes: [AUTHORITY],
    token: 'abcdef.0123456789abcdef',
    secrets: new Map(config.spec.secrets.map(({ name }) => [name, ''])),
    cluster: 'cluster',
    name: 'machine',
    uid: undefined,
  });
  const yaml = JSON.stringify({ ...document, secrets: withoutValues(document.secrets) });
  return (await mergedDocument({ yaml }, merge)).document;
}
