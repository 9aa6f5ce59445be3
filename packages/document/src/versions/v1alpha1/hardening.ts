import * as z from 'zod';
import { CONTROL_IDS } from '../../hardening-controls.ts';
import { HARDENING_PROFILES, type HardeningModel } from '../../model-hardening.ts';
import { field, object } from '../../sections/field.ts';

const controlId = z.enum(CONTROL_IDS, { error: 'no control has this id' }).meta({ title: 'Control' });

export const hardening = object({
  profiles: field(
    z.array(z.enum(HARDENING_PROFILES)),
    'The benchmarks: cis-level-1 and cis-level-2 (CIS Kubernetes v1.12), stig (DISA Kubernetes STIG V1R9), cis-os (network and kernel).',
    { example: ['cis-level-1', 'cis-os'] },
  ),
  include: field(
    z.array(controlId),
    'IDs of controls to apply although they are off by default, because they can break clusters or belong to a profile that is not chosen.',
    { default: [], example: ['cis-1.2.9'] },
  ),
  exceptions: field(
    z.array(
      object({
        id: field(controlId, 'The ID of the control.', { example: 'cis-1.1.12' }),
        reason: field(
          z.string().regex(/\S/, 'an exception needs a reason'),
          'Why the control is not applied, for the reader of the audit.',
          { example: 'etcd runs as root in this image' },
        ),
      }),
    ),
    'Controls that are not applied, each with its reason. An audit lists them.',
    { default: [], example: [{ id: 'cis-1.1.12', reason: 'etcd runs as root in this image' }] },
  ),
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
