/** The Ignition config of a worker, as cluster-api's pkg/ignition/clc/clc.go makes it from its templates. */
export function workerIgnition(): string {
  const file = (path: string, content: string, mode: number) => ({
    filesystem: 'root',
    path,
    mode,
    contents: { source: `data:,${encodeURIComponent(content)}`, verification: {} },
  });
  const join = `---
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken: {token: abcdef.0123456789abcdef, apiServerEndpoint: 'api:6443', caCertHashes: ['sha256:${'0'.repeat(64)}']}
nodeRegistration: {taints: null}
`;
  const script = `#!/bin/bash
set -e

systemctl stop locksmithd

kubeadm join --config /etc/kubeadm.yml
mkdir -p /run/cluster-api && echo success > /run/cluster-api/bootstrap-success.complete
mv /etc/kubeadm.yml /tmp/

`;
  return JSON.stringify({
    ignition: { config: {}, security: { tls: {} }, timeouts: {}, version: '2.3.0' },
    networkd: {},
    passwd: {},
    storage: { files: [file('/etc/kubeadm.sh', script, 0o700), file('/etc/kubeadm.yml', join, 0o600)] },
    systemd: {
      units: [{ name: 'kubeadm.service', enabled: true, contents: '[Unit]\nConditionPathExists=/etc/kubeadm.yml\n' }],
    },
  });
}
