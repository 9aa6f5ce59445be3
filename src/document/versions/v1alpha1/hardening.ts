import * as z from 'zod';
import { CONTROL_IDS } from '../../hardening-controls.ts';
import { HARDENING_PROFILES, type HardeningModel } from '../../model-hardening.ts';

const controlId = z.enum(CONTROL_IDS, { error: 'no control has this id' }).meta({ title: 'Control' });

export const hardening = z
  .strictObject({
    profiles: z
      .array(z.enum(HARDENING_PROFILES))
      .describe(
        'cis-level-1, cis-level-2 (CIS Kubernetes v1.12), stig (DISA Kubernetes STIG V1R9), cis-os (network and kernel).',
      ),
    include: z
      .array(controlId)
      .optional()
      .describe('Controls by id that are off because they break clusters, or of a profile that is not chosen.'),
    exceptions: z
      .array(z.strictObject({ id: controlId, reason: z.string().regex(/\S/, 'an exception needs a reason') }))
      .optional()
      .describe('Controls that are not applied, each with its reason; an audit tells them.'),
  })
  .describe('Security benchmarks that the machine is brought to and held to (docs/hardening.md).');

export type HardeningSection = z.infer<typeof hardening>;

/** The section `hardening`; undefined = nothing is asked. */
export function toHardening(section: HardeningSection | undefined): HardeningModel | undefined {
  if (section === undefined) return undefined;
  return {
    profiles: section.profiles,
    include: section.include ?? [],
    exceptions: section.exceptions ?? [],
  };
}
