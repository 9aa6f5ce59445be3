import { drift, type FeatureCases, gone } from '../../../support/feature-cases.ts';
import { APPARMOR, PROFILE } from '../../../support/security-modules.ts';

export const cases: FeatureCases = {
  everything: `apparmor: {profiles: [{name: k8s-nginx, content: ${JSON.stringify(PROFILE)}}]}`,
  undo: {
    'profiles of AppArmor':
      'apparmor: {profiles: [{name: site, content: "profile site {\\n  network,\\n}\\n"}, {name: new, content: "profile new {}\\n"}]}',
  },
  drifts: {
    'host.apparmor.profiles[].name': [
      drift(
        'no file',
        gone('/etc/apparmor.d/k8s-nginx'),
        'apparmor/etc/apparmor.d/k8s-nginx',
        'apparmor/load/etc/apparmor.d/k8s-nginx',
      ),
    ],
    'host.apparmor.profiles[].content': [
      drift(
        'another profile',
        (m) => m.put('/etc/apparmor.d/k8s-nginx', PROFILE.replace('file', 'network')),
        'apparmor/etc/apparmor.d/k8s-nginx',
        'apparmor/load/etc/apparmor.d/k8s-nginx',
      ),
      drift('not loaded', (m) => m.put(APPARMOR.loaded, ''), 'apparmor/load/etc/apparmor.d/k8s-nginx'),
    ],
  },
};
