import { upgradeStepRefusal } from '@machineadm/document/kubernetes-releases/version-skew.ts';
import * as z from 'zod';
import type { Api } from '../cluster/api.ts';
import { CORE_GROUP, KubernetesObject, SecretObject } from '../cluster/objects.ts';
import { collectionIn, readObject, type ServedVersions } from '../cluster/related.ts';
import type { Conversions } from '../conversions/pool.ts';
import { Kept } from '../handover/kept.ts';
import { isTranslated } from '../handover/mark.ts';
import { isOptedIn } from '../handover/opt-in.ts';
import { type Profile, type Profiles, profileFor } from '../handover/profiles.ts';
import type { NotReady } from '../provider/not-ready.ts';
import { type Config, configOf, KIND } from '../provider/objects.ts';
import { withProfile } from '../provider/render.ts';
import { type Change, isSame, type Side } from './objects.ts';

/** What the updates in place need of the service. */
export interface UpdateContext {
  readonly api: Api;
  readonly versions: ServedVersions;
  readonly profiles: () => Promise<Profiles>;
  readonly conversions: Conversions;
  readonly version: string;
}

/** The label that every Machine of a MachineSet has (cluster-api api/core/v1beta2). */
const SET_LABEL = 'cluster.x-k8s.io/set-name';

/**
 * Why machines cannot be changed in place; undefined: machineadm can, as far as can be known without the node. Nothing is
 * written. What is decided here is what the node decides: the versions that Kubernetes supports, and the fields of a document
 * that may change on a node.
 */
export async function updateProblem(
  { of, current, desired }: Change,
  context: UpdateContext,
  signal: AbortSignal,
): Promise<string | undefined> {
  const [from, to] = [current.version, desired.version];
  if (!isSame(current.infrastructure, desired.infrastructure)) return 'the infrastructure of the machine changes';
  if (from === undefined || to === undefined) return 'the Machine has no version';
  const step = upgradeStepRefusal(from, to);
  if (step !== undefined) return `${step.what}: ${step.remedy}`;
  const [before, after] = [current.config, desired.config];
  if (before === undefined || after === undefined || before.kind !== after.kind)
    return 'no bootstrap provider that machineadm knows';
  const cluster = await readObject(
    context.api,
    context.versions,
    'Cluster',
    desired.namespace,
    desired.clusterName,
    signal,
  );
  if (cluster === undefined) return `there is no Cluster ${desired.clusterName}`;
  try {
    if (after.kind === KIND) {
      const dated = {
        current: { config: datedConfig(current), version: from },
        desired: { config: datedConfig(desired), version: to },
      };
      const objects = [withProfile(dated.desired.config), desired.machine, cluster];
      const { profile } = profileFor(objects, await context.profiles());
      const merge = { profile, translatorVersion: context.version };
      return await context.conversions.configUpdateProblem(
        desired.namespace,
        signal,
        dated.current,
        dated.desired,
        merge,
      );
    }
    if (after.kind !== 'KubeadmConfig') return `${after.kind} is of another bootstrap provider`;
    if (!isOptedIn([desired.machine, after, cluster])) return 'the machine did not opt in';
    if (!isSame(withoutGates(before.spec), withoutGates(after.spec)))
      return 'the KubeadmConfig changes, which nothing runs again on a node';
    if (!(await areTranslated({ of, current }, context, signal)))
      return 'kubeadm bootstrapped the machine, not machineadm';
    if (from === to) return undefined;
    const { profile } = profileFor([desired.machine, after, cluster], await context.profiles());
    return bringsPrograms(profile)
      ? undefined
      : 'the document of the profile brings no kubeadm and kubelet of the other version: host.files (also with unpack) or host.hooks';
  } catch (error) {
    if (error instanceof Kept && error.reason !== 'TimedOut') return `${reasonOf(error)}: ${error.message}`;
    throw error;
  }
}

function datedConfig({ config, namespace }: Side): Config {
  return configOf({ ...config, metadata: { ...config?.metadata, namespace } });
}

/** As the conditions of MachineadmConfigs name it: nothing was converted. */
export function reasonOf({ reason }: Kept | NotReady): string {
  return reason === 'ConversionFailed' ? 'DocumentInvalid' : reason;
}

const WithCluster = z.looseObject({ clusterConfiguration: z.looseObject({}).nullish() });

/**
 * A KubeadmConfig without the feature gates of kubeadm: KubeadmControlPlane adds and drops them with the version, also in the
 * ConfigMap kubeadm-config, which the upgrade reads (controlplane/kubeadm/internal/desiredstate, DefaultFeatureGates).
 */
function withoutGates(spec: Readonly<Record<string, unknown>>): object {
  const { clusterConfiguration, ...others } = WithCluster.parse(spec);
  const { featureGates: _gates, ...cluster } = clusterConfiguration ?? {};
  return Object.keys(cluster).length === 0 ? others : { ...others, clusterConfiguration: cluster };
}

const Fragment = z.looseObject({
  host: z.looseObject({ files: z.array(z.unknown()).default([]), hooks: z.looseObject({}).default({}) }).optional(),
});

/** What they bring is known on the node, which looks before it begins. */
function bringsPrograms({ documents = [] }: Profile): boolean {
  return documents.some((one) => {
    const { files = [], hooks = {} } = Fragment.safeParse(one).data?.host ?? {};
    return files.length > 0 || Object.keys(hooks).length > 0;
  });
}

const Booted = z.looseObject({
  spec: z.looseObject({ bootstrap: z.looseObject({ dataSecretName: z.string().nullish() }).default({}) }),
});
const List = z.looseObject({ items: z.array(z.looseObject({})).default([]) });

/** Whether machineadm bootstrapped the machine, or all machines of the set: a node of kubeadm has nothing to update it. */
async function areTranslated(
  { of, current }: Pick<Change, 'of' | 'current'>,
  { api, versions }: UpdateContext,
  signal: AbortSignal,
): Promise<boolean> {
  const { namespace, machine } = current;
  const version = await versions.of(CORE_GROUP);
  const machines =
    of === 'Machine'
      ? [machine]
      : List.parse(
          await api.request({
            path: collectionIn('Machine', version, namespace),
            query: { labelSelector: `${SET_LABEL}=${machine.metadata.name}` },
            signal,
          }),
        ).items.map((item) =>
          KubernetesObject.parse({ apiVersion: `${CORE_GROUP}/${version}`, kind: 'Machine', ...item }),
        );
  for (const one of machines) {
    const name = Booted.parse(one).spec.bootstrap.dataSecretName ?? undefined;
    if (name === undefined) return false;
    const path = `/api/v1/namespaces/${namespace}/secrets/${encodeURIComponent(name)}`;
    if (!isTranslated(SecretObject.parse(await api.request({ path, signal })))) return false;
  }
  return machines.length > 0;
}
