import { printableKey } from '@machineadm/document/diagnostics/index.ts';
import type { KubernetesSection } from '@machineadm/document/sections/kubernetes/index.ts';
import { omitEmpty } from '@machineadm/document/values/defined.ts';
import { makersOf, type TemplateUse } from '../cluster-class/patches.ts';
import { classesNaming } from '../cluster-class/topology.ts';
import type { InputObject } from '../inputs/input.ts';
import type { SecretBook } from '../inputs/secrets.ts';
import { BOOTSTRAP_GROUP, CORE_GROUP, isOf, machineSpecOf, ownersOf, type Relations } from '../relations/relations.ts';
import type { Report } from '../report/report.ts';
import type { Spec } from '../spec/spec.ts';
import { emitDocument, omitUndefinedDeep } from '../texts/emit.ts';
import { at, text } from '../values/map.ts';

/** The objects of machineadm's own bootstrap provider for Cluster API (docs/machineadmconfig.md). */
const API_VERSION = 'bootstrap.cluster.x-k8s.io/v1alpha1';

/** The kind that takes the place of a configuration: MachinePools refer to configurations themselves, not to templates. */
function kindFor({ kind }: InputObject): 'MachineadmConfig' | 'MachineadmConfigTemplate' {
  return kind === 'KubeadmConfig' ? 'MachineadmConfig' : 'MachineadmConfigTemplate';
}

/** Why an object becomes none of the provider's; undefined where it does. */
export function reasonAgainst(object: InputObject, relations: Relations): string | undefined {
  if (!isOf(object, BOOTSTRAP_GROUP, 'KubeadmConfig') && !isOf(object, BOOTSTRAP_GROUP, 'KubeadmConfigTemplate')) {
    return 'control planes stay with KubeadmControlPlane';
  }
  const isOfMachine =
    ownersOf(object, CORE_GROUP, 'Machine').length > 0 ||
    relations.usersOf(object).some(({ kind }) => kind === 'Machine');
  return isOfMachine ? 'it is that of one Machine, which is replaced and never changed' : undefined;
}

/**
 * Which uses of a configuration become objects: each that a Cluster's topology patches, and one for all others, for the oldest
 * version of those.
 */
export function usesForProvider(uses: readonly TemplateUse[]): readonly TemplateUse[] {
  const patched = uses.filter(({ use }) => use !== undefined);
  const minorOf = ({ maker }: TemplateUse): number =>
    Number(
      /^v?1\.(\d+)/.exec(text(at(maker && machineSpecOf(maker), 'version')) ?? '')?.[1] ?? Number.POSITIVE_INFINITY,
    );
  const [oldest] = uses.filter(({ use }) => use === undefined).sort((a, b) => minorOf(a) - minorOf(b));
  return oldest === undefined ? patched : [...patched, { ...oldest, name: undefined }];
}

/** Tells what of kubeadm's configuration the provider decides, and what it cannot express. */
export function leaveJoinToProvider({ join }: Spec, report: Report): void {
  const token = join.get('discovery', 'bootstrapToken');
  if (token.exists) {
    token.whole();
    report.add('DecidedByCluster', token, 'each machine gets its token, the endpoint and the authority');
  }
  for (const other of [
    join.get('discovery', 'file'),
    join.get('discovery', 'tlsBootstrapToken'),
    join.get('caCertPath'),
  ]) {
    if (!other.exists || other.whole() === '') continue;
    report.add('FieldWithoutCounterpart', other, 'machines of a MachineadmConfig join with a bootstrap token');
  }
}

/** The sections of a document, as they stand in the object. */
export interface ProviderSections {
  readonly kubernetes?: KubernetesSection | undefined;
  readonly [section: string]: unknown;
}

export function ownSections(document: object): ProviderSections {
  const {
    apiVersion: _apiVersion,
    kind: _kind,
    metadata: _metadata,
    secrets: _secrets,
    ...sections
  } = document as Whole;
  return sections;
}

interface Whole extends ProviderSections {
  readonly secrets?: object;
}

/** The document with a token and an endpoint, as the provider makes it for a machine: to validate it. */
export function joining(document: object): object {
  const { kubernetes, secrets, ...sections } = document as Whole;
  const token = {
    token: { secret: TOKEN },
    endpoint: 'control-plane:6443',
    caCertHashes: [`sha256:${'0'.repeat(64)}`],
  };
  return {
    ...sections,
    secrets: { ...secrets, [TOKEN]: { file: '/run/bootstrap-token' } },
    kubernetes: { ...kubernetes, join: { discovery: { token } } },
  };
}

const TOKEN = 'bootstrapToken';

/** The object, and the Secret with the values that stood in the configuration in clear text. */
export async function emitProviderObject(
  object: InputObject,
  name: string,
  spec: Spec,
  { kubernetes, ...sections }: ProviderSections,
  secrets: SecretBook,
  report: Report,
): Promise<string> {
  const { namespace } = object;
  const { version: _version, role: _role, cluster: _cluster, join: _join, ...own } = kubernetes ?? {};
  const values = Object.entries(secrets.section ?? {}).flatMap(([key, entry]) =>
    'value' in entry ? [[key, entry.value] as const] : [],
  );
  const made = `${name}-machineadm`;
  const references = Object.keys(secrets.section ?? {}).map((key) => ({
    name: key,
    secretRef: secrets.kept.get(key) ?? { name: made, key },
  }));
  const written = omitEmpty({
    document: { ...sections, kubernetes: omitEmpty(own) },
    format: spec.flavour === 'ignition' ? 'ignition' : undefined,
    secrets: references.length === 0 ? undefined : references,
  });
  const kind = kindFor(object);
  const metadata = { name, namespace };
  const placed = kind === 'MachineadmConfig' ? written : { template: { spec: written } };
  const whole = { apiVersion: API_VERSION, kind, metadata, spec: placed };
  const emitted = await emitDocument(omitUndefinedDeep(whole) as object, `Converted from ${object.title}.`, 'kubectl');
  if (values.length === 0) return emitted;
  report.add('SecretMade', object.title, `${made}: ${values.map(([key]) => key).join(', ')}`);
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...metadata, name: made, labels: { 'clusterctl.cluster.x-k8s.io/move': '' } },
    type: 'Opaque',
    stringData: Object.fromEntries(values),
  };
  return `${await emitDocument(omitUndefinedDeep(secret) as object, `Values of ${object.title}.`, 'kubectl')}---\n${emitted}`;
}

/** Tells which references lead to the configuration today, and how each becomes one to the object of this name. */
export function tellReferences(
  object: InputObject,
  { use }: TemplateUse,
  name: string,
  relations: Relations,
  report: Report,
): void {
  const kind = kindFor(object);
  if (use !== undefined) {
    const { title } = use.clusterClass;
    const patches = 'its patches of KubeadmConfigTemplates are in the object, and no longer apply';
    report.add(
      'ReferenceToChange',
      title,
      `the bootstrap reference of a class of workers: ${kind} ${name}; ${patches}`,
    );
    return;
  }
  const makers = object.kind === 'KubeadmConfig' ? relations.usersOf(object) : makersOf(object, relations);
  for (const maker of makers) {
    const target = maker.version === 'v1beta1' ? { apiVersion: API_VERSION } : { apiGroup: BOOTSTRAP_GROUP };
    const patch = { spec: { template: { spec: { bootstrap: { configRef: { ...target, kind, name } } } } } };
    const where = maker.namespace === undefined ? '' : `-n ${maker.namespace} `;
    const words = `patch ${maker.kind.toLowerCase()} ${printableKey(maker.name)} --type merge -p '${JSON.stringify(patch)}'`;
    report.add('ReferenceToChange', maker.title, `kubectl ${where}${words}`);
  }
  for (const { clusterClass } of classesNaming(object, relations)) {
    report.add(
      'ReferenceToChange',
      clusterClass.title,
      `the bootstrap reference of a class of workers: ${kind} ${name}`,
    );
  }
}
