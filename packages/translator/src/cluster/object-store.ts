import * as z from 'zod';
import { KubernetesObject } from './objects.ts';

/** Objects of one kind by namespace and name, without the parts that nobody here reads. */
export class ObjectStore {
  readonly #objects = new Map<string, KubernetesObject>();
  /** Those that the list in progress has not found yet. */
  #unseen = new Set<string>();

  get(key: string): KubernetesObject | undefined {
    return this.#objects.get(key);
  }

  keys(): readonly string[] {
    return [...this.#objects.keys()];
  }

  put(object: KubernetesObject): string {
    const key = keyOf(object.metadata);
    this.#unseen.delete(key);
    const { managedFields: _, ...metadata } = object.metadata;
    this.#objects.set(key, { ...object, metadata });
    return key;
  }

  remove(object: KubernetesObject): void {
    this.#objects.delete(keyOf(object.metadata));
  }

  /** Before and after a list: what it does not contain is gone. */
  beginList(): void {
    this.#unseen = new Set(this.#objects.keys());
  }

  endList(): void {
    for (const key of this.#unseen) this.#objects.delete(key);
  }
}

export function keyOf({
  namespace = '',
  name,
}: {
  readonly namespace?: string | undefined;
  readonly name: string;
}): string {
  return `${namespace}/${name}`;
}

/** Items of a list have neither apiVersion nor kind where a server leaves them out. */
export function objectOf(item: unknown, kind: string, apiVersion: string): KubernetesObject {
  return KubernetesObject.parse({ apiVersion, kind, ...z.looseObject({}).parse(item) });
}

const ConfigStatus = z.looseObject({
  status: z.looseObject({ dataSecretName: z.string().optional() }).nullish(),
});
const MachineSpec = z.looseObject({
  spec: z.looseObject({
    providerID: z.string().nullish(),
    bootstrap: z.looseObject({ configRef: z.looseObject({ kind: z.string(), name: z.string() }).nullish() }).nullish(),
  }),
});
const Metadata = z.looseObject({ metadata: z.looseObject({ generation: z.number().optional() }) });

/** The Secret of a KubeadmConfig; undefined = the provider has not written it yet. */
export function dataSecretOf(config: KubernetesObject): string | undefined {
  const name = ConfigStatus.safeParse(config).data?.status?.dataSecretName;
  return name === '' ? undefined : name;
}

/** The name of the KubeadmConfig, or of the config of another kind, of a Machine. */
export function configNameOf(machine: KubernetesObject, kind = 'KubeadmConfig'): string | undefined {
  const reference = MachineSpec.safeParse(machine).data?.spec.bootstrap?.configRef;
  return reference?.kind === kind ? reference.name : undefined;
}

export function hasInstance(machine: KubernetesObject): boolean {
  return (MachineSpec.safeParse(machine).data?.spec.providerID ?? '') !== '';
}

export function generationOf(object: KubernetesObject): number | undefined {
  return Metadata.safeParse(object).data?.metadata.generation;
}
