import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { KubernetesObject } from '../cluster/objects.ts';

/** The requests of Cluster API's hooks for updates in place, as far as they are read (api/runtime/hooks/v1alpha1). */

const Spec = z.record(z.string(), z.unknown());
const Template = z.looseObject({
  spec: z.looseObject({ template: z.looseObject({ metadata: z.unknown().optional(), spec: Spec.default({}) }) }),
});
const WithSpec = z.looseObject({ spec: Spec.default({}) });
const Metadata = KubernetesObject.shape.metadata.partial({ name: true });

const MachineSide = z.looseObject({
  machine: KubernetesObject,
  infrastructureMachine: WithSpec,
  bootstrapConfig: KubernetesObject.nullish(),
});
const SetSide = z.looseObject({
  machineSet: KubernetesObject,
  infrastructureMachineTemplate: Template,
  bootstrapConfigTemplate: KubernetesObject.nullish(),
});
const MachineRequest = z.looseObject({ current: MachineSide, desired: MachineSide });
const SetRequest = z.looseObject({ current: SetSide, desired: SetSide });
const UpdateRequest = z.looseObject({ desired: z.looseObject({ machine: KubernetesObject }) });

/** A Machine, or what all Machines of a MachineSet have in common, at one time. */
export interface Side {
  readonly namespace: string;
  readonly clusterName: string;
  /** With its labels and annotations. */
  readonly machine: KubernetesObject;
  readonly version: string | undefined;
  readonly infrastructure: Readonly<Record<string, unknown>>;
  /** With the spec of a MachineadmConfig or a KubeadmConfig; undefined = there is none. */
  readonly config: (KubernetesObject & { readonly spec: Readonly<Record<string, unknown>> }) | undefined;
}

/** What is to change, of one Machine or of all of a MachineSet. */
export interface Change {
  /** The names of patches in the answer. */
  readonly of: 'Machine' | 'MachineSet';
  readonly current: Side;
  readonly desired: Side;
}

/** The change of a request for `CanUpdateMachine`. Throws where it is none. */
export function machineChange(request: unknown): Change {
  const { current, desired } = MachineRequest.parse(request);
  const side = ({ machine, infrastructureMachine, bootstrapConfig }: z.infer<typeof MachineSide>): Side =>
    sideOf(machine, WithSpec.parse(machine).spec, infrastructureMachine.spec, bootstrapConfig ?? undefined, (config) =>
      WithSpec.parse(config),
    );
  return { of: 'Machine', current: side(current), desired: side(desired) };
}

/** The change of a request for `CanUpdateMachineSet`. Throws where it is none. */
export function machineSetChange(request: unknown): Change {
  const { current, desired } = SetRequest.parse(request);
  const side = ({
    machineSet,
    infrastructureMachineTemplate,
    bootstrapConfigTemplate,
  }: z.infer<typeof SetSide>): Side => {
    const { metadata, spec } = Template.parse(machineSet).spec.template;
    const { name, namespace } = machineSet.metadata;
    const own = Metadata.parse(metadata ?? {});
    const machine = { ...machineSet, kind: 'Machine', metadata: { ...own, name, namespace } };
    return sideOf(
      machine,
      spec,
      infrastructureMachineTemplate.spec.template.spec,
      bootstrapConfigTemplate ?? undefined,
      (config) => Template.parse(config).spec.template,
    );
  };
  return { of: 'MachineSet', current: side(current), desired: side(desired) };
}

/** `namespace` and `name` of the Machine that `UpdateMachine` is about. Throws where there is none. */
export function machineToUpdate(request: unknown): { readonly namespace: string; readonly name: string } {
  const { name, namespace = '' } = UpdateRequest.parse(request).desired.machine.metadata;
  return { name, namespace };
}

const MachineSpec = z.looseObject({ clusterName: z.string().default(''), version: z.string().nullish() });

function sideOf(
  machine: KubernetesObject,
  spec: Readonly<Record<string, unknown>>,
  infrastructure: Readonly<Record<string, unknown>>,
  config: KubernetesObject | undefined,
  specOf: (config: KubernetesObject) => { readonly spec: Readonly<Record<string, unknown>> },
): Side {
  const { clusterName, version } = MachineSpec.parse(spec);
  return {
    namespace: machine.metadata.namespace ?? '',
    clusterName,
    machine,
    version: version === '' ? undefined : (version ?? undefined),
    infrastructure,
    config:
      config === undefined
        ? undefined
        : { ...config, kind: config.kind.replace(/Template$/, ''), spec: specOf(config).spec },
  };
}

/** Whether two values are equal as JSON: a member that is missing and one that is undefined are the same. */
export function isSame(one: unknown, other: unknown): boolean {
  const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null));
  return isDeepStrictEqual(plain(one), plain(other));
}
