import type { KubernetesObject } from '../cluster/objects.ts';
import { ANNOTATIONS } from '../handover/profiles.ts';
import { DECIDED } from './decided.ts';
import { NotReady } from './not-ready.ts';
import type { Config } from './objects.ts';

/** What the controller adds to the document of a MachineadmConfig. */
export interface Decisions {
  readonly version: string;
  readonly endpoint: string;
  readonly caCertHashes: readonly string[];
  readonly token: string;
  /** Of the secrets that the MachineadmConfig refers to, by name. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly cluster: string;
  /** Of the Machine or the MachinePool. */
  readonly name: string;
  /** Of the Machine; undefined for a MachinePool, whose instances share their bootstrap data. */
  readonly uid: string | undefined;
}

/** The name of the secret that a bootstrapper other than kubeadm joins with, instead of a bootstrap token. */
export const JOIN_TOKEN = 'joinToken';
const BOOTSTRAP_TOKEN = 'bootstrapToken';

/** Until Cluster API has copied the labels of the Machine, nothing is scheduled (contract: taint nodes at creation). */
const UNINITIALIZED = { key: 'node.cluster.x-k8s.io/uninitialized', effect: 'NoSchedule' };

/** Refuses a document that decides what Cluster API decides, or holds a secret in clear text. */
export function checkDocument(config: Config): void {
  const problems = documentProblems(config);
  if (problems.length > 0) throw new NotReady('DocumentInvalid', problems.join('; '));
}

/** The same problems, each with its path from `spec`. */
export function documentProblems({ spec }: Config): readonly string[] {
  const problems = Object.entries(DECIDED).flatMap(([path, decider]) => {
    const isThere = path
      .split('.')
      .reduce<unknown>((part, name) => (isObject(part) ? part[name] : undefined), spec.document);
    return isThere === undefined ? [] : [`spec.document.${path}: leave it out: it is decided by ${decider}`];
  });
  const { secrets = {}, kubernetes } = spec.document;
  for (const [name, source] of Object.entries(secrets)) {
    if (isObject(source) && 'value' in source) {
      problems.push(
        `spec.document.secrets.${name}: everyone who reads this object sees the value: move it to a Secret and spec.secrets`,
      );
    }
  }
  for (const { name } of spec.secrets) {
    if (name === BOOTSTRAP_TOKEN || name in secrets) problems.push(`spec.secrets: the name ${name} is taken`);
    if (name === JOIN_TOKEN && !usesOther(kubernetes)) {
      problems.push(`spec.secrets: ${JOIN_TOKEN} is for kubernetes.bootstrapper.exec; kubeadm gets a bootstrap token`);
    }
  }
  if (BOOTSTRAP_TOKEN in secrets) problems.push(`spec.document.secrets: the name ${BOOTSTRAP_TOKEN} is taken`);
  return problems;
}

/** The MachineadmConfig with the profile that its spec names, as an annotation: the narrowest object decides. */
export function withProfile(config: Config): KubernetesObject {
  const { profile } = config.spec;
  const { annotations, ...metadata } = config.metadata;
  const chosen = profile === undefined ? {} : { [ANNOTATIONS.profile]: profile };
  return { ...config, metadata: { ...metadata, annotations: { ...annotations, ...chosen } } };
}

/** Whether a program takes the place of kubeadm. */
function usesOther(kubernetes: Readonly<Record<string, unknown>> | undefined): boolean {
  return isObject(kubernetes?.bootstrapper) && kubernetes.bootstrapper.exec !== undefined;
}

/** Whether the machine joins with a token of another bootstrapper. */
export function hasOwnToken({ spec }: Config): boolean {
  return usesOther(spec.document.kubernetes) && spec.secrets.some(({ name }) => name === JOIN_TOKEN);
}

/** The whole document of a machine. */
export function renderDocument(
  config: Config,
  decisions: Decisions,
): { readonly secrets: Readonly<Record<string, unknown>>; readonly [section: string]: unknown } {
  const { document } = config.spec;
  const { namespace = '' } = config.metadata;
  const { name, uid, cluster } = decisions;
  const { kubernetes = {}, secrets = {}, ...rest } = document;
  const node = isObject(kubernetes.node) ? kubernetes.node : {};
  const given: readonly unknown[] = Array.isArray(node.taints) ? node.taints : [];
  const taints = given.filter((taint) => !isObject(taint) || taint.key !== UNINITIALIZED.key);
  const token = hasOwnToken(config) ? JOIN_TOKEN : BOOTSTRAP_TOKEN;
  const values = [...decisions.secrets, ...(token === JOIN_TOKEN ? [] : [[BOOTSTRAP_TOKEN, decisions.token] as const])];
  return {
    apiVersion: 'machineadm.dev/v1alpha1',
    kind: 'MachineBootstrap',
    metadata: { name, namespace, cluster, ...(uid === undefined ? {} : { uid }) },
    ...rest,
    secrets: { ...secrets, ...Object.fromEntries(values.map(([name, value]) => [name, { value }])) },
    kubernetes: {
      version: decisions.version,
      role: 'Worker',
      ...kubernetes,
      ...(usesOther(kubernetes) ? {} : { node: { ...node, taints: [...taints, UNINITIALIZED] } }),
      join: {
        discovery: {
          token: {
            token: { secret: token },
            endpoint: decisions.endpoint,
            caCertHashes: decisions.caCertHashes,
          },
        },
      },
    },
  };
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
