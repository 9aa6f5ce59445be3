import { parseVersion } from '@machineadm/document/text/program-version.ts';
import type { Facts } from '../../src/host/seam/facts.ts';

/** Facts of an ordinary, complete Linux node, with what a test is about replaced. */
export function facts(different: Partial<Facts> = {}): Facts {
  return {
    platform: 'linux',
    architecture: 'amd64',
    os: { id: 'debian', version: '12' },
    kernel: '6.1.0-18-amd64',
    serviceManager: 'systemd',
    hostname: 'node-1',
    machineId: '0123456789abcdef0123456789abcdef',
    bootId: '11111111-2222-3333-4444-555555555555',
    cloudInstanceId: undefined,
    nodeAddresses: ['10.0.0.5'],
    isRoot: true,
    containerd: parseVersion(
      'containerd github.com/containerd/containerd v1.7.27 05044ec0a9a75232cad458027ca83437aae3f4da',
    ),
    kubeadm: parseVersion('v1.35.2'),
    kubelet: parseVersion('Kubernetes v1.35.2'),
    ...different,
  };
}
