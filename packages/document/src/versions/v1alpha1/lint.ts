import type { Finding } from '../../diagnostics/index.ts';
import { lintRegistries } from '../../sections/containerd/registries-checks.ts';
import { lintKubernetes } from '../../sections/kubernetes/lint.ts';
import { lintFiles } from './lint-files.ts';
import { lintStorage } from './lint-storage.ts';
import { lintUsers } from './lint-users.ts';
import type { Sections } from './sections.ts';

/** Settings that are allowed but harmful: reported as warnings, section by section. */
export function lint(sections: Sections): readonly Finding[] {
  return [
    ...lintFiles(sections),
    ...lintStorage(sections),
    ...lintUsers(sections),
    ...lintRegistries(sections.containerRuntime?.containerd?.registries ?? [], sections.host?.proxy),
    ...(sections.kubernetes === undefined ? [] : lintKubernetes(sections.kubernetes)),
  ];
}
