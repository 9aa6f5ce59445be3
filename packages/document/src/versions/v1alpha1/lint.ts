import type { Finding } from '../../diagnostics.ts';
import { lintKubernetes } from '../../sections/kubernetes/lint.ts';
import { lintContainerd } from './lint-containerd.ts';
import { lintStorage } from './lint-storage.ts';
import type { Sections } from './sections.ts';

/** What a document may ask for and will hurt: told as warnings, section by section. */
export function lint(sections: Sections): readonly Finding[] {
  return [
    ...lintStorage(sections),
    ...lintContainerd(sections),
    ...(sections.kubernetes === undefined ? [] : lintKubernetes(sections.kubernetes)),
  ];
}
