import { authority, drift, type FeatureCases, FOLLOWS } from '../../../support/feature-cases.ts';

export const cases: FeatureCases = {
  everything: authority('site'),
  undo: {
    'an authority': authority('site'),
  },
  drifts: {
    'host.certificateAuthorities[].name': { none: 'is a part of the name of its file' },
    'host.certificateAuthorities[].pem': [
      drift(
        'not in the bundle',
        (m) => m.put('/etc/ssl/certs/ca-certificates.crt', 'ROOT\n'),
        'certificate-authorities/rebuild',
      ),
      drift(
        'an earlier certificate of its name',
        (m) => m.put('/usr/local/share/ca-certificates/machineadm-site-01234567.crt', 'OLD\n'),
        'certificate-authorities/remove/site-01234567',
      ),
    ],
    'host.certificateAuthorities[].restarts[]': { none: FOLLOWS },
    'host.certificateAuthorities[].reloads[]': { none: FOLLOWS },
  },
};
