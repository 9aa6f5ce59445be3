import { drift, edit, type FeatureCases, gone, NOT_A_STATE, RUN, UNDONE } from '../../../support/feature-cases.ts';

const NETWORK = '/etc/systemd/network/10-eth0.network';

const network = (tool: string, was: string, fresh: string, content: string): string =>
  `network: {tool: ${tool}, files: ${JSON.stringify([was, fresh].map((name) => ({ name, content })))}}`;

export const cases: FeatureCases = {
  everything: 'network: {tool: networkd, files: [{name: 10-eth0.network, content: "[Match]\\nName=eth0\\n"}]}',
  undo: {
    'a network of networkd': network('networkd', '10-eth0.network', '20-new.network', '[Match]\nName=eth0\n'),
    'a network of netplan': network(
      'netplan',
      '50-cloud-init.yaml',
      '60-new.yaml',
      'network: {version: 2, ethernets: {}}\n',
    ),
    'a network of NetworkManager': network(
      'NetworkManager',
      'lan.nmconnection',
      'new.nmconnection',
      '[connection]\nid=new\n',
    ),
  },
  drifts: {
    'host.network.tool': { none: 'says which tool reads the files' },
    'host.network.files[].name': [drift('no file', gone(NETWORK), 'network/files')],
    'host.network.files[].content': [drift('another content', edit(NETWORK, 'eth0', 'eth1'), 'network/files')],
    'host.network.keep.*': { none: NOT_A_STATE },
  },
  dropped: {
    'host.network.**': UNDONE,
    'host.network.keep.*': RUN,
  },
};
