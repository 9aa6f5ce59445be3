import type { Finding } from '../../diagnostics.ts';
import type { Sections } from './sections.ts';

/** What the lists of `hardening` contradict each other in, and what no profile can be applied to. */
export function checkHardening({ hardening: section, kubernetes }: Sections): Finding[] {
  if (section === undefined) return [];
  const findings: Finding[] = [];
  const repeated = (list: readonly string[], path: (index: number) => readonly (string | number)[]) => {
    list.forEach((item, index) => {
      const first = list.indexOf(item);
      if (first === index) return;
      findings.push({ path: path(index), message: `${item} is named already`, hint: 'keep one of them' });
    });
  };
  const excepted = (section.exceptions ?? []).map(({ id }) => id);
  repeated(section.profiles, (index) => ['hardening', 'profiles', index]);
  repeated(section.include ?? [], (index) => ['hardening', 'include', index]);
  repeated(excepted, (index) => ['hardening', 'exceptions', index, 'id']);
  section.include?.forEach((id, index) => {
    if (!excepted.includes(id)) return;
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
