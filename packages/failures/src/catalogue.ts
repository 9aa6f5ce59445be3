import { CONFIGURATION } from './catalogue/configuration.ts';
import { CONFIGURATION_VALUES } from './catalogue/configuration-values.ts';
import { CONTAINER_RUNTIME } from './catalogue/container-runtime.ts';
import { CONTROL_PLANE } from './catalogue/control-plane.ts';
import { DISCOVERY } from './catalogue/discovery.ts';
import { ENDPOINT } from './catalogue/endpoint.ts';
import type { CatalogueEntry } from './catalogue/entry.ts';
import { ETCD } from './catalogue/etcd.ts';
import { IMAGES } from './catalogue/images.ts';
import { KUBELET } from './catalogue/kubelet.ts';
import { LEFTOVERS } from './catalogue/leftovers.ts';
import { MACHINE } from './catalogue/machine.ts';
import { MACHINE_CHECKS } from './catalogue/machine-checks.ts';
import { MACHINE_FACTS } from './catalogue/machine-facts.ts';
import { NODE } from './catalogue/node.ts';
import { SHARED_CERTIFICATES } from './catalogue/shared-certificates.ts';
import { UNITS } from './catalogue/units.ts';

export type { CatalogueEntry, Cleanup, LineSource, NoiseEntry } from './catalogue/entry.ts';
export { NOISE } from './catalogue/noise.ts';

/**
 * All known failures, unordered: priorities decide between them. An entry is data; adding one changes the file of its
 * topic (and `document/reasons.ts` for a new reason), and the tests check it by its example.
 */
export const CATALOGUE: readonly CatalogueEntry[] = [
  ...LEFTOVERS,
  ...CONTAINER_RUNTIME,
  ...MACHINE_CHECKS,
  ...CONFIGURATION,
  ...CONFIGURATION_VALUES,
  ...IMAGES,
  ...ENDPOINT,
  ...DISCOVERY,
  ...SHARED_CERTIFICATES,
  ...KUBELET,
  ...NODE,
  ...CONTROL_PLANE,
  ...ETCD,
  ...MACHINE,
  ...MACHINE_FACTS,
  ...UNITS,
];
