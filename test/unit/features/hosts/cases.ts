import { drift, edit, type FeatureCases } from '../../../support/feature-cases.ts';

export const cases: FeatureCases = {
  everything: 'hosts: {entries: [{address: 10.0.0.10, names: [api.example.com, api]}]}',
  undo: {
    'names of hosts': 'hosts: {entries: [{address: 10.0.0.9, names: [api.example]}]}',
  },
  drifts: {
    'host.hosts.entries[].address': [
      drift('another address', edit('/etc/hosts', '10.0.0.10', '10.0.0.11'), 'hosts/entries'),
      drift('no address', edit('/etc/hosts', '10.0.0.10 api.example.com api\n', ''), 'hosts/entries'),
    ],
    'host.hosts.entries[].names[]': [drift('a name less', edit('/etc/hosts', ' api\n', '\n'), 'hosts/entries')],
    'host.hosts.ownName': [drift('no own name', edit('/etc/hosts', /127\.0\.1\.1 .*\n/, ''), 'hosts/own-name')],
  },
};
