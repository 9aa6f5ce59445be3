import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Model } from '@machineadm/document/model/index.ts';
import { foreignYaml } from '@machineadm/document/yaml/foreign-yaml.ts';
import { EMPTY_RECORD, type StepRecord } from '../../src/step/index.ts';
import type { Upgrade } from '../../src/step/upgrade-order.ts';
import { newAuthority, startHealthz } from './api-server.ts';
import { hostModel } from './host-model.ts';
import { kubernetesModel } from './kubernetes-model.ts';
import { type MemoryHost, memoryHost } from './memory-host.ts';
import { upgradeCluster } from './upgrade-cluster.ts';

export const CONFIG = '/var/lib/kubelet/config.yaml';
export const FLAGS = '/var/lib/kubelet/kubeadm-flags.env';
export const KEPT = '/var/lib/machineadm/upgrade/kubelet.json';
const RUN = 'upgrade-kubelet-settings/run';
export const UPGRADE: Upgrade = {
  ...{ from: 'v1.35.2', to: 'v1.35.2', subjects: ['kubelet'] },
  drain: { by: 'machineadm' },
};
export const RECORD: StepRecord = { ...EMPTY_RECORD, upgrade: UPGRADE };
export const INTERRUPTED: StepRecord = { ...RECORD, interrupted: new Set([RUN]) };

type Kubelet = Model['kubernetes'] extends infer K | undefined
  ? K extends { node: { kubelet: infer Settings } }
    ? Settings
    : never
  : never;

export function model(
  kubelet: Partial<Kubelet>,
  role: 'InitControlPlane' | 'Worker' = 'InitControlPlane',
  timeoutMs = 60_000,
) {
  const { node, ready } = kubernetesModel();
  const kubernetes = {
    ...kubernetesModel({ role, version: 'v1.35.2' }),
    ready: { ...ready, timeoutMs },
    node: { ...node, name: 'node-1', kubelet: { ...node.kubelet, ...kubelet } },
  };
  const made: Model = { ...hostModel(), kubernetes };
  return made;
}

/**
 * A node whose kubelet reads its files when it is restarted. `accepts`: whether it starts with them; `stays`: whether it does not
 * end after it answered.
 */
export async function kubeletNode(
  accepts: (config: string) => boolean = () => true,
  stays: (config: string) => boolean = () => true,
) {
  const cluster = await upgradeCluster();
  const authority = newAuthority();
  const own = authority.issue('kubelet', ['127.0.0.1']);
  const healthz = await startHealthz();
  let running = '';
  const server = createServer({ cert: own.certificate, key: own.key }, async (_request, response) => {
    response.writeHead(200).end(JSON.stringify({ kubeletconfig: await foreignYaml(running) }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const client = authority.issue('kube-apiserver-kubelet-client');
  const memory = memoryHost({
    files: {
      ...cluster.files,
      [CONFIG]: `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: systemd
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}}
healthzPort: ${healthz.port}
maxPods: 110
port: ${port}
syncFrequency: 1m0s
`,
      [FLAGS]: 'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///run/containerd/containerd.sock --v=2"\n',
      '/etc/kubernetes/pki/apiserver-kubelet-client.crt': client.certificate,
      '/etc/kubernetes/pki/apiserver-kubelet-client.key': client.key,
    },
    services: { kubelet: { active: true, enabled: true } },
  });
  let [restarts, pid] = [0, 100];
  const start = (): void => {
    const config = memory.text(CONFIG) ?? '';
    healthz.status = accepts(config) ? 200 : 500;
    if (accepts(config)) running = config;
  };
  start();
  const host: MemoryHost = {
    ...memory,
    async service(name) {
      const found = await memory.service(name);
      if (!stays(running)) pid += 1;
      return { ...found, pid };
    },
    services: {
      ...memory.services,
      async restart(name) {
        await memory.services.restart(name);
        restarts += 1;
        start();
      },
    },
  };
  return {
    ...{ host, restarts: () => restarts },
    async [Symbol.asyncDispose]() {
      await cluster[Symbol.asyncDispose]();
      await healthz[Symbol.asyncDispose]();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
