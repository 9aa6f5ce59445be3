import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { InterfaceAddress } from '../../../src/host/seam/facts.ts';
import { kubeconfig, newAuthority, nodeObject, startApiServer, startHealthz } from '../../support/api-server.ts';
import { Transcript } from '../../support/machine-in-memory.ts';
import type { MemoryProgram } from '../../support/memory-host.ts';

const DOCUMENT = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: worker-1}
reporting: {sinks: []}
kubernetes:
  version: v1.35.2
  role: Worker
  join: {discovery: {token: {token: abcdef.0123456789abcdef, endpoint: "127.0.0.1:6443", unsafeSkipCAVerification: true}}}
  node:
    name: node-1
    addresses: {interface: eth1, subnets: [10.0.0.0/8, "fd00::/8"]}
    labels: {rack: a, node-role.kubernetes.io/worker: ""}
`;
const FLAGS = '/var/lib/kubelet/kubeadm-flags.env';
const COMMAND = 'kubectl label node node-1 node-role.kubernetes.io/worker=';

/** A machine with two interfaces, which kubeadm makes a worker of a cluster. */
async function machine() {
  const authority = newAuthority();
  const healthz = await startHealthz();
  const labels: Record<string, string> = {};
  const identity = { machineID: '5c1a9d0e7b3f4268b6e2d8f1c7a30e94' };
  const server = await startApiServer(authority, () => nodeObject({ ...identity, labels }));
  const addresses: InterfaceAddress[] = [
    { interface: 'eth0', address: '192.0.2.5', prefix: 24 },
    { interface: 'eth1', address: '10.0.0.11', prefix: 24 },
    { interface: 'eth1', address: 'fd00::11', prefix: 64 },
  ];
  const kubeadm: MemoryProgram = ({ args }, host) => {
    if (args[0] !== 'join') return {};
    const [, nodeIP = ''] =
      /name: node-ip\n\s+value: "([^"]+)"/.exec(host.text('/run/kubeadm/kubeadm-join-config.yaml') ?? '') ?? [];
    host.put(
      '/etc/kubernetes/kubelet.conf',
      kubeconfig(server.url, authority.certificate, authority.issue('system:node:node-1')),
    );
    host.put('/var/lib/kubelet/config.yaml', `healthzPort: ${healthz.port}\n`);
    host.put(FLAGS, `KUBELET_KUBEADM_ARGS="--node-ip=${nodeIP}"\n`);
    host.setService('kubelet', { active: true, enabled: true });
    return { stdout: 'This node has joined the cluster:\n' };
  };
  const story = new Transcript({
    addresses,
    programs: { kubeadm },
    services: {
      kubelet: { enabled: true },
      containerd: { active: true, enabled: true },
      'machineadm-sentinel.service': {},
    },
  });
  return {
    story,
    labels,
    addresses,
    async [Symbol.asyncDispose]() {
      story[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
      await healthz[Symbol.asyncDispose]();
    },
  };
}

describe('a worker with two interfaces and a label that only the management side may set', () => {
  test('gets the address that the document selects, and reports the label until the Node has it', async () => {
    await using worker = await machine();
    const { story, labels, addresses } = worker;
    chmodSync(story.file('node.yaml', DOCUMENT), 0o600);
    const run = async (line: string) => {
      const { status, stdout, stderr } = await story.run(line);
      assert.equal(status, 0, `${line}: ${stdout}${stderr}`);
      return stdout;
    };
    const statusNow = async () => JSON.parse(await run('status -o json'));
    assert.match(await run('plan -f DIR/node.yaml'), /use 10\.0\.0\.11, fd00::11 of eth1/);
    await run('provision -f DIR/node.yaml');
    assert.equal(story.machine.host.text(FLAGS), 'KUBELET_KUBEADM_ARGS="--node-ip=10.0.0.11,fd00::11"\n');
    const first = await statusNow();
    assert.deepEqual(first.host.nodeAddresses, ['10.0.0.11', 'fd00::11']);
    assert.deepEqual(first.forManagement.commands, [COMMAND]);
    assert.match(first.warnings.join(), /The management side must set the labels node-role/);
    assert.match(await run('status'), /machineadm\.dev\/NodeLabelsSet: Unknown \(ManagementMustSet\)/);

    labels['node-role.kubernetes.io/worker'] = '';
    addresses.push({ interface: 'eth1', address: '10.0.0.12', prefix: 24 });
    await run('provision -f DIR/node.yaml');
    const second = await statusNow();
    assert.equal(second.forManagement, undefined);
    assert.doesNotMatch(second.warnings.join(), /The management side must/);
    assert.deepEqual(second.host.nodeAddresses, ['10.0.0.11', 'fd00::11']);
    assert.deepEqual(
      second.steps.filter(({ state }: { state: string }) => state !== 'Unchanged'),
      [],
    );
    assert.match(await run('plan -f DIR/node.yaml'), /^nothing to change$/m);

    addresses.splice(1, 1);
    assert.match(
      await run('plan -f DIR/node.yaml'),
      /keeps the node-ip 10\.0\.0\.11,fd00::11, although the machine has 10\.0\.0\.12, fd00::11/,
    );
    assert.equal(story.machine.host.text(FLAGS), 'KUBELET_KUBEADM_ARGS="--node-ip=10.0.0.11,fd00::11"\n');
  });
});
