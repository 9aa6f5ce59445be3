import type { Conversion } from '../conversion.ts';
import { liftAudit } from './audit.ts';
import { liftHost } from './host.ts';
import { Lifting, type Sections } from './lifting.ts';
import { liftPatches, liftStaticPods } from './manifests.ts';
import { liftRegistries } from './registries.ts';
import { liftServices } from './services.ts';

/**
 * Lifts well-known files and commands into structured parts of the document. A command goes only if all of it is known, a
 * file only if all of its content is; each is told as Structured. What restarts a service goes last, once nothing is left
 * that would need it.
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
