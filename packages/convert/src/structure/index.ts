import type { Conversion } from '../inputs/conversion.ts';
import { liftAudit } from './audit.ts';
import { liftHost } from './host.ts';
import { Lifting, type Sections } from './lifting.ts';
import { liftPatches, liftStaticPods } from './manifests.ts';
import { liftRegistries } from './registries.ts';
import { liftServices } from './services.ts';

/**
 * Converts well-known files and commands to structured fields of the document. A command is converted only if all of it
 * is known, a file only if all of its content is; each is reported as Structured. Commands that restart a service are
 * removed last, when nothing is left that would need them.
 */
export async function structured(sections: Sections, conversion: Conversion): Promise<Sections> {
  const lifting = new Lifting(sections, conversion);
  liftHost(lifting);
  await liftRegistries(lifting);
  await liftStaticPods(lifting);
  await liftPatches(lifting);
  await liftAudit(lifting);
  liftServices(lifting);
  return lifting.sections();
}
