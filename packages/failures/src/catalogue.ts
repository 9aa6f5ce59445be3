import { CONFIGURATION } from './catalogue/configuration.ts';
import { CONFIGURATION_VALUES } from './catalogue/configuration-values.ts';
import { CONTAINER_RUNTIME } from './catalogue/container-runtime.ts';
import { CONTROL_PLANE } from './catalogue/control-plane.ts';
import { DISCOVERY } from './catalogue/discovery.ts';
import { ENDINGS } from './catalogue/endings.ts';
import { ENDPOINT } from './catalogue/endpoint.ts';
import type { CatalogueEntry, Place, TopicEntry } from './catalogue/entry.ts';
import { ETCD } from './catalogue/etcd.ts';
import { FIRST_BOOT } from './catalogue/first-boot.ts';
import { IMAGES } from './catalogue/images.ts';
import { KUBELET } from './catalogue/kubelet.ts';
import { LEFTOVERS } from './catalogue/leftovers.ts';
import { MACHINE } from './catalogue/machine.ts';
import { MACHINE_CHECKS } from './catalogue/machine-checks.ts';
import { MACHINE_FACTS } from './catalogue/machine-facts.ts';
import { NODE } from './catalogue/node.ts';
import { REFUSALS } from './catalogue/refusals.ts';
import { SHARED_CERTIFICATES } from './catalogue/shared-certificates.ts';
import { UNITS } from './catalogue/units.ts';

export type { CatalogueEntry, Cleanup, LineSource, NoiseEntry, Place } from './catalogue/entry.ts';
export { PLACES } from './catalogue/entry.ts';
export { NOISE, ORDINARY_ERRORS } from './catalogue/noise.ts';

/** The topics, each with the place in the chain that its entries have unless they say otherwise. */
const TOPICS: readonly (readonly [Place, readonly TopicEntry[]])[] = [
  ['services', FIRST_BOOT],
  ['filesystem', LEFTOVERS],
  ['runtime', CONTAINER_RUNTIME],
  ['kernel', MACHINE_CHECKS],
  ['kubeadm', CONFIGURATION],
  ['kubeadm', CONFIGURATION_VALUES],
  ['runtime', IMAGES],
  ['network', ENDPOINT],
  ['network', DISCOVERY],
  ['kubeadm', SHARED_CERTIFICATES],
  ['kubelet', KUBELET],
  ['kubelet', NODE],
  ['apiServer', REFUSALS],
  ['apiServer', CONTROL_PLANE],
  ['etcd', ETCD],
  ['kernel', MACHINE],
  ['filesystem', MACHINE_FACTS],
  ['services', UNITS],
  ['kubelet', ENDINGS],
];

/**
 * All known failures, unordered: their places and priorities decide between them. An entry is data; adding one changes
 * the file of its topic (and `document/outcomes/reasons.ts` for a new reason), and the tests check it by its example.
 */
export const CATALOGUE: readonly CatalogueEntry[] = TOPICS.flatMap(([place, entries]) =>
  entries.map((entry) => ({ place, ...entry })),
);
