import * as z from 'zod';
import { KubernetesObject } from '../cluster/objects.ts';

/** The kind of the bootstrap provider, and where its objects are. */
export const KIND = 'MachineadmConfig';
export const VERSION = 'v1alpha1';
export const CONFIGS = `/apis/bootstrap.cluster.x-k8s.io/${VERSION}`;

const DocumentSpec = z.looseObject({
  kubernetes: z.looseObject({}).optional(),
  secrets: z.looseObject({}).optional(),
});

/**
 * Fields of the document whose names kubectl takes for booleans, because it reads YAML 1.1: who writes `no:` without quotes sends
 * `"false":`.
 */
export const BOOLEAN_NAMES: Readonly<Record<string, readonly [from: string, to: string]>> = {
  'host.proxy': ['false', 'no'],
  'host.hooks.early.retry': ['true', 'on'],
  'host.hooks.beforeBootstrap.retry': ['true', 'on'],
  'host.hooks.afterBootstrap.retry': ['true', 'on'],
};

/** The document with the names that were meant. */
function named(part: unknown, path = ''): unknown {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
  const [from, to] = BOOLEAN_NAMES[path] ?? ['', ''];
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => {
      const below = path === '' ? name : `${path}.${name}`;
      const isBelow = Object.keys(BOOLEAN_NAMES).some((one) => `${one}.`.startsWith(`${below}.`));
      return [name === from && !(to in part) ? to : name, isBelow ? named(value, below) : value];
    }),
  );
}

const Spec = z.looseObject({
  document: z.preprocess((document) => named(document), DocumentSpec.default({})),
  format: z.enum(['cloud-config', 'ignition']).default('cloud-config'),
  profile: z.string().optional(),
  secrets: z
    .array(z.looseObject({ name: z.string(), secretRef: z.looseObject({ name: z.string(), key: z.string() }) }))
    .default([]),
});
export type ConfigSpec = z.infer<typeof Spec>;

const Config = KubernetesObject.extend({
  metadata: KubernetesObject.shape.metadata.extend({
    generation: z.number().optional(),
    deletionTimestamp: z.string().optional(),
  }),
  spec: Spec.default(Spec.parse({})),
  status: z.looseObject({ dataSecretName: z.string().optional() }).nullish(),
});
export type Config = z.infer<typeof Config>;

/** A MachineadmConfig of an answer of the API server. */
export function configOf(item: unknown): Config {
  return Config.parse({
    apiVersion: `bootstrap.cluster.x-k8s.io/${VERSION}`,
    kind: KIND,
    ...z.looseObject({}).parse(item),
  });
}

const MachineSpec = z.looseObject({ version: z.string().nullish(), providerID: z.string().nullish() });
const Owner = z.looseObject({
  spec: MachineSpec.extend({
    replicas: z.number().nullish(),
    template: z.looseObject({ spec: MachineSpec }).nullish(),
  }),
  status: z.looseObject({ nodeRef: z.unknown().optional(), nodeRefs: z.array(z.unknown()).nullish() }).nullish(),
});

/** What matters of a Machine or a MachinePool. */
export interface OwnerState {
  readonly version: string | undefined;
  readonly isPool: boolean;
  /** Whether every machine is a node: nobody needs the token any more. */
  readonly hasJoined: boolean;
}

export function ownerState(owner: KubernetesObject): OwnerState {
  const { spec, status } = Owner.parse(owner);
  const isPool = owner.kind === 'MachinePool';
  const version = (isPool ? spec.template?.spec.version : spec.version) ?? undefined;
  const nodes = status?.nodeRefs?.length ?? 0;
  return {
    version: version === '' ? undefined : version,
    isPool,
    hasJoined: isPool ? nodes > 0 && nodes >= (spec.replicas ?? 1) : hasName(status?.nodeRef),
  };
}

function hasName(reference: unknown): boolean {
  return (z.looseObject({ name: z.string() }).safeParse(reference).data?.name ?? '') !== '';
}

const Condition = z.looseObject({ type: z.string(), status: z.string() });
const ClusterState = z.looseObject({
  spec: z
    .looseObject({
      paused: z.boolean().nullish(),
      controlPlaneEndpoint: z.looseObject({ host: z.string().default(''), port: z.number().default(0) }).nullish(),
    })
    .default({}),
  status: z
    .looseObject({
      initialization: z
        .looseObject({
          infrastructureProvisioned: z.boolean().nullish(),
          controlPlaneInitialized: z.boolean().nullish(),
        })
        .nullish(),
      infrastructureReady: z.boolean().nullish(),
      conditions: z.array(Condition).nullish(),
    })
    .nullish(),
});

export interface ClusterFacts {
  readonly isPaused: boolean;
  readonly hasInfrastructure: boolean;
  readonly isInitialized: boolean;
  /** `host:port`; undefined = not known yet. */
  readonly endpoint: string | undefined;
}

/** Reads a Cluster of v1beta2, or of v1beta1. */
export function clusterFacts(cluster: KubernetesObject): ClusterFacts {
  const { spec, status } = ClusterState.parse(cluster);
  const { host = '', port = 0 } = spec.controlPlaneEndpoint ?? {};
  const isTrue = (type: string) => status?.conditions?.some((one) => one.type === type && one.status === 'True');
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return {
    isPaused: spec.paused === true,
    hasInfrastructure: (status?.initialization?.infrastructureProvisioned ?? status?.infrastructureReady) === true,
    isInitialized:
      (status?.initialization?.controlPlaneInitialized ?? isTrue('ControlPlaneInitialized') ?? false) === true,
    endpoint: host === '' || port === 0 ? undefined : `${name}:${port}`,
  };
}
