import { drift, edit, type FeatureCases, gone } from '../../../support/feature-cases.ts';

export const cases: FeatureCases = {
  everything:
    'proxy: {http: "http://proxy.example:3128", https: "http://proxy.example:3129", no: [.example], for: [containerd, kubelet, environment]}',
  undo: {
    'a proxy': 'proxy: {http: "http://proxy.example:3128", for: [containerd, kubelet]}',
    'a proxy for everybody who logs in': 'proxy: {http: "http://proxy.example:3128", for: [environment]}',
  },
  drifts: {
    'host.proxy.http': [
      drift(
        'another proxy of the services',
        edit('/etc/machineadm/proxy.env', 'example:3128', 'example:1'),
        'proxy/variables',
      ),
      drift('another proxy of logins', edit('/etc/environment', 'example:3128', 'example:1'), 'proxy/environment'),
    ],
    'host.proxy.https': [
      drift('another proxy', edit('/etc/machineadm/proxy.env', 'example:3129', 'example:1'), 'proxy/variables'),
    ],
    'host.proxy.*.*': { none: 'names the secret with the URL' },
    'host.proxy.no[]': [
      drift('another bypass', edit('/etc/machineadm/proxy.env', '.example', '.other'), 'proxy/variables'),
    ],
    'host.proxy.for[]': [
      drift('no variables', gone('/etc/machineadm/proxy.env'), 'proxy/variables'),
      drift(
        'containerd does not read them',
        gone('/etc/systemd/system/containerd.service.d/20-machineadm-proxy.conf'),
        'proxy/containerd',
      ),
      drift(
        'the kubelet reads others',
        edit('/etc/systemd/system/kubelet.service.d/20-machineadm-proxy.conf', 'proxy.env', 'other.env'),
        'proxy/kubelet',
      ),
      drift(
        'logins have none',
        edit('/etc/environment', /# BEGIN machineadm[\s\S]*# END machineadm.*\n/, ''),
        'proxy/environment',
      ),
    ],
  },
};
