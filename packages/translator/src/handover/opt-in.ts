import * as z from 'zod';
import type { KubernetesObject } from '../cluster/objects.ts';

/** The label or annotation that decides whether a machine is bootstrapped by machineadm. */
export const BOOTSTRAP = 'machineadm.dev/bootstrap';

/**
 * Whether a machine opted in. The narrowest object that says something decides: the Machine, then its KubeadmConfig, then
 * the Cluster. A label takes precedence over the annotation of the same name, and any value other than `enabled` means no.
 */
export function isOptedIn(narrowestFirst: readonly (KubernetesObject | undefined)[]): boolean {
  return settingOf(narrowestFirst, BOOTSTRAP, true) === 'enabled';
}

/** The value of an annotation on the narrowest object that has it; with `alsoLabels`, a label of the same name counts first. */
export function settingOf(
  narrowestFirst: readonly (KubernetesObject | undefined)[],
  name: string,
  alsoLabels = false,
): string | undefined {
  for (const object of narrowestFirst) {
    const value = (alsoLabels ? object?.metadata.labels?.[name] : undefined) ?? object?.metadata.annotations?.[name];
    if (value !== undefined) return value;
  }
  return undefined;
}

const Booted = z.looseObject({
  spec: z.looseObject({
    providerID: z.string().nullish(),
    bootstrap: z.looseObject({ dataSecretName: z.string().nullish() }).nullish(),
  }),
});

/**
 * Whether a Machine has its bootstrap data: it booted, or will boot at any moment. A MachinePool never has, because it gets
 * new data for later instances.
 */
export function hasBootstrapData(machine: KubernetesObject | undefined): boolean {
  if (machine?.kind !== 'Machine') return false;
  const spec = Booted.safeParse(machine).data?.spec;
  return (spec?.providerID ?? '') !== '' || (spec?.bootstrap?.dataSecretName ?? '') !== '';
}
