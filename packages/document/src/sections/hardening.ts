import type { Finding } from '../diagnostics/index.ts';
import { must } from '../fields/conditions.ts';
import { choice, field, object } from '../fields/field.ts';
import { repeated } from '../fields/repeated.ts';
import * as z from '../schema/zod.ts';
import { CONTROL_IDS, type HardeningProfile, PROFILE_MEANINGS } from './hardening-controls.ts';

export interface HardeningModel {
  readonly profiles: readonly HardeningProfile[];
  /** Ids of controls that are applied although their profile leaves them alone, or is not chosen. */
  readonly include: readonly string[];
  /** Controls that are not applied, and why. */
  readonly exceptions: readonly HardeningException[];
}

export interface HardeningException {
  readonly id: string;
  readonly reason: string;
}

const controlId = z.enum(CONTROL_IDS, { error: 'no control has this id' }).meta({ title: 'Control' });

export const hardening = object(
  {
    profiles: field(
      z.array(choice(PROFILE_MEANINGS)),
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
  },
  () => [must('profiles', { type: 'array', uniqueItems: true }), must('include', { type: 'array', uniqueItems: true })],
);

type HardeningSection = z.infer<typeof hardening>;

export function toHardening({ profiles, include = [], exceptions = [] }: HardeningSection): HardeningModel {
  return { profiles, include, exceptions };
}

/** What the lists of `hardening` contradict each other in, and what no profile can be applied to. */
export function checkHardening(section: HardeningSection, hasOwnProgram: boolean): Finding[] {
  const findings: Finding[] = [];
  const refuseRepeated = (list: readonly string[], path: (index: number) => readonly (string | number)[]) => {
    for (const index of repeated(list).keys()) {
      findings.push({
        code: 'Duplicate',
        path: path(index),
        message: `${list[index]} is named already`,
        hint: 'keep one of them',
      });
    }
  };
  const excepted = (section.exceptions ?? []).map(({ id }) => id);
  refuseRepeated(section.profiles, (index) => ['hardening', 'profiles', index]);
  refuseRepeated(section.include ?? [], (index) => ['hardening', 'include', index]);
  refuseRepeated(excepted, (index) => ['hardening', 'exceptions', index, 'id']);
  const exceptions = new Set(excepted);
  section.include?.forEach((id, index) => {
    if (!exceptions.has(id)) return;
    const message = `${id} is among the exceptions, too`;
    findings.push({ path: ['hardening', 'include', index], message, hint: 'keep one of them' });
  });
  if (hasOwnProgram) {
    section.profiles.forEach((profile, index) => {
      if (profile === 'cis-os') return;
      const message = `${profile} is for nodes that kubeadm created, but bootstrapper.exec replaces kubeadm`;
      findings.push({ path: ['hardening', 'profiles', index], message, hint: 'choose cis-os only' });
    });
  }
  return findings;
}
