import { drift, edit, type FeatureCases, UNDONE } from '../../../support/feature-cases.ts';
import { SELINUX } from '../../../support/security-modules.ts';

export const cases: FeatureCases = {
  everything: `selinux: {mode: Enforcing, booleans: {container_manage_cgroup: true}, fileContexts: [{path: '/srv/data(/.*)?', type: container_file_t}]}`,
  undo: {
    'SELinux that enforces': 'selinux: {mode: Enforcing}',
  },
  drifts: {
    'host.selinux.mode': [
      drift('permissive now', (m) => m.writeKernelFile(SELINUX.enforce, '0'), 'selinux/mode'),
      drift('disabled at the next boot', edit(SELINUX.config, 'enforcing', 'disabled'), 'selinux/configuration'),
    ],
    'host.selinux.booleans.*': [
      drift('off now', (m) => m.put(SELINUX.boolean, '0 0'), 'selinux/booleans'),
      drift('off at the next boot', edit(SELINUX.kept, '=1', '=0'), 'selinux/booleans'),
    ],
    'host.selinux.fileContexts[].path': [drift('no rule', (m) => m.put(SELINUX.local, ''), 'selinux/file-contexts')],
    'host.selinux.fileContexts[].type': [
      drift('another type', edit(SELINUX.local, 'container_file_t', 'etc_t'), 'selinux/file-contexts'),
    ],
  },
  dropped: {
    'host.selinux.mode': UNDONE,
    'host.selinux.booleans.*': { why: 'what it was is not on record; the plan says that it stays', stays: /boolean/ },
    'host.selinux.fileContexts[].**': {
      why: 'undone; semanage leaves its empty file',
      stays: /^\/etc\/selinux\/targeted/,
    },
  },
};
