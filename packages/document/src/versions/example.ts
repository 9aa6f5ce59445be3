import type { Role } from '../model/index.ts';

/** The placeholder of the example for the API server's address. */
export const EXAMPLE_ENDPOINT = '10.0.0.10:6443';

/**
 * An annotated document to start from, valid as it is. Values that the user must replace are marked as placeholders.
 */
export function exampleDocument(role: Role): string {
  return [header(role), HOST, KUBERNETES[role], REPORTING].join('\n');
}

function header(role: Role): string {
  return `# yaml-language-server: $schema=machineadm.schema.json
# The line above is for editors: \`machineadm schema --editor\` writes that file beside this one.
# A bootstrap document for machineadm: ${role}.
# Check it with: machineadm validate -f FILE
# Look at what it would do to this machine with: machineadm plan -f FILE
apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata:
  name: ${role === 'Worker' ? 'prod-a-worker-0' : 'prod-a-control-plane-0'}
  cluster: prod-a
# What a unit does at a boot after it was applied: nothing until it changes (Once), or apply it again (EveryBoot).
apply: Once
`;
}

const HOST = `host:
  # Loaded now and at every boot. Kubernetes needs both for most network plug-ins.
  kernelModules: [overlay, br_netfilter]
  sysctl:
    net.ipv4.ip_forward: 1
    net.bridge.bridge-nf-call-iptables: 1
  swap: Disabled
containerRuntime:
  containerd:
    # cgroupfs only on machines with cgroup v1.
    cgroupDriver: systemd
`;

const CLUSTER = `  cluster:
    name: prod-a
    # Where clients and joining machines reach the API server: a load balancer or virtual IP.
    controlPlaneEndpoint: ${EXAMPLE_ENDPOINT}
    podSubnets: [10.244.0.0/16]
    serviceSubnets: [10.96.0.0/12]
`;

const JOIN = `  join:
    discovery:
      token:
        # Made up: \`kubeadm token create\` on a control plane makes one.
        token: abcdef.0123456789abcdef
        endpoint: ${EXAMPLE_ENDPOINT}
        # Pins the cluster's CA, so that no other server can pretend to be it.
        caCertHashes:
          - sha256:0000000000000000000000000000000000000000000000000000000000000000
`;

const NODE = `  ready:
    # What counts as success: KubeletHealthy, NodeRegistered or NodeReady.
    require: NodeRegistered
    timeout: 5m
`;

const KUBERNETES: Readonly<Record<Role, string>> = {
  InitControlPlane: `kubernetes:
  version: v1.35.2
  role: InitControlPlane
${CLUSTER}    # Joining machines present this token. Made up: write your own, or give it as {secret: name}.
    bootstrapTokens:
      - {token: abcdef.0123456789abcdef, ttl: 24h}
${NODE}`,
  JoinControlPlane: `kubernetes:
  version: v1.35.2
  role: JoinControlPlane
  controlPlane:
    # Decrypts the certificates that the first control plane uploaded. Made up.
    certificateKey: '0000000000000000000000000000000000000000000000000000000000000000'
${JOIN}${NODE}`,
  Worker: `kubernetes:
  version: v1.35.2
  role: Worker
${JOIN}${NODE}`,
};

const REPORTING = `reporting:
  sinks:
    - {type: Journal}
    - {type: Console, device: /dev/console}
`;
