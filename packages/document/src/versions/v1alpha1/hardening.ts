import * as z from 'zod';
import { CONTROL_IDS } from '../../hardening-controls.ts';
import { HARDENING_PROFILES, type HardeningModel } from '../../model-hardening.ts';

const controlId = z.enum(CONTROL_IDS, { error: 'no control has this id' }).meta({ title: 'Control' });

export const hardening = z.strictObject({
  profiles: z.array(z.enum(HARDENING_PROFILES)),
  include: z.array(controlId).optional(),
  exceptions: z
    .array(z.strictObject({ id: controlId, reason: z.string().regex(/\S/, 'an exception needs a reason') }))
    .optional(),
});

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
