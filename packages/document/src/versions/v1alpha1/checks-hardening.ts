import type { Finding } from '../../diagnostics.ts';
import { repeated } from './repeated.ts';
import type { Sections } from './sections.ts';

/** What the lists of `hardening` contradict each other in, and what no profile can be applied to. */
export function checkHardening({ hardening: section, kubernetes }: Sections): Finding[] {
  if (section === undefined) return [];
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
  if (kubernetes?.bootstrapper?.exec !== undefined) {
    section.profiles.forEach((profile, index) => {
      if (profile === 'cis-os') return;
      const message = `${profile} is about nodes of kubeadm, which bootstrapper.exec takes the place of`;
      findings.push({ path: ['hardening', 'profiles', index], message, hint: 'choose cis-os only' });
    });
  }
  return findings;
}
