import { attribute, drift, edit, type FeatureCases, gone, NOT_A_STATE } from '../../../support/feature-cases.ts';

const HOSTS_TOML = '/etc/containerd/certs.d/reg.example/hosts.toml';
const CONTAINERD = '/etc/containerd/config.toml';
const IN_REGISTRY = 'is a line of hosts.toml, which is compared as a whole: a change of any line is one of its file';
const IN_CONFIGURATION =
  'is a line of config.toml, which is compared as a whole: a change of any line is one of its file';

export const cases: FeatureCases = {
  everything: `host: {}
containerRuntime:
  containerd:
    sandboxImage: registry.example/pause:3.10
    registries:
      - host: reg.example
        mirrors: [{url: "https://mirror.example", headers: {X-Token: {secret: token}}}]
secrets: {token: {value: hunter2hunter2}}`,
  undo: {
    containerd: 'host: {}\ncontainerRuntime: {containerd: {sandboxImage: "registry.example/pause:3.10"}}',
    'containerd, into the file that was there':
      'host: {}\ncontainerRuntime: {containerd: {mode: Merge, cgroupDriver: systemd}}',
    'containerd with registries': [
      'host: {}',
      'containerRuntime:',
      '  containerd:',
      '    registries:',
      '      - {host: docker.io, mirrors: [{url: "https://mirror.example"}]}',
      '      - {host: registry.example, mirrors: [{url: "https://mirror.example/other"}]}',
    ].join('\n'),
  },
  drifts: {
    'containerRuntime.containerd.sandboxImage': [
      drift('another value', edit(CONTAINERD, 'pause:3.10', 'pause:3.9'), 'containerd/config'),
      drift('no file', gone(CONTAINERD), 'containerd/config'),
      drift('another mode', attribute(CONTAINERD, { mode: 0o666 }), 'containerd/config'),
      drift('another owner', attribute(CONTAINERD, { uid: 1000 }), 'containerd/config'),
    ],
    'containerRuntime.containerd.mode': { none: NOT_A_STATE },
    'containerRuntime.containerd.**': { none: IN_CONFIGURATION },
    'containerRuntime.containerd.registries[].**': { none: IN_REGISTRY },
    'containerRuntime.containerd.registries[].host': [
      drift('no file', gone(HOSTS_TOML), 'containerd/registries/reg.example'),
      drift(
        'another content',
        edit(HOSTS_TOML, 'mirror.example', 'other.example'),
        'containerd/registries/reg.example',
      ),
      drift(
        'a secret that others can read',
        attribute(HOSTS_TOML, { mode: 0o644 }),
        'containerd/registries/reg.example',
      ),
    ],
  },
};
