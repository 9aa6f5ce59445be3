import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HardeningModel, Model, Role } from '@machineadm/document/model/index.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import type { Component } from '@machineadm/hardening/controls/control.ts';
import { hardenModel } from '@machineadm/hardening/harden-model.ts';
import { readManifest } from '@machineadm/hardening/manifest.ts';
import type { Facts } from '../../src/host/seam/facts.ts';
import { facts } from './facts.ts';
import { hostModel } from './host-model.ts';
import { kubernetesModel } from './kubernetes-model.ts';
import { type MemoryFile, type MemoryHost, memoryHost } from './memory-host.ts';

/** What the real kubeadm 1.20.2 wrote (phases control-plane and etcd; its KubeletConfiguration). */
const FIXTURES = join(import.meta.dirname, '../fixtures/hardening/kubeadm-1.20');

export const COMPONENTS: readonly Component[] = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'etcd'];
export const ETCD_ID = 950;

/** The facts of a machine with that kubeadm's kubelet. */
export const FACTS_1_20: Facts = facts({
  kubeadm: parseVersion('v1.20.2'),
  kubelet: parseVersion('Kubernetes v1.20.2'),
});

export function fixture(name: string): string {
  return readFileSync(join(FIXTURES, name), 'utf8');
}

/** The model of a document that asks for these benchmarks. */
export function hardenedModel(
  hardening: Partial<HardeningModel>,
  role: Role = 'InitControlPlane',
  version = 'v1.20.2',
): Model {
  const section: HardeningModel = { profiles: [], include: [], exceptions: [], ...hardening };
  const model: Model = { ...hostModel(), kubernetes: kubernetesModel({ role, version }), hardening: section };
  return hardenModel(model).model;
}

/**
 * A machine in memory as kubeadm leaves it, with modes and owners as its phases and packages give them, and a kubelet
 * that starts each component anew whenever its manifest is written.
 */
export async function nodeOf(
  role: 'control-plane' | 'worker',
  files: Readonly<Record<string, MemoryFile>> = {},
): Promise<MemoryHost> {
  const host = memoryHost({
    services: { kubelet: { active: true, enabled: true } },
    groups: { etcd: ETCD_ID },
    users: { etcd: ETCD_ID },
    programs: { modprobe: () => ({ stdout: '' }) },
    files: {
      '/proc/modules': 'overlay 1 0 - Live 0x0\n',
      '/etc/systemd/system/kubelet.service.d/10-kubeadm.conf': '[Service]\n',
      '/etc/systemd/system/kubelet.service': '[Unit]\n',
      '/var/lib/kubelet/config.yaml': { content: fixture('kubelet-config.yaml'), mode: 0o644 },
      '/var/lib/kubelet/kubeadm-flags.env': { content: 'KUBELET_KUBEADM_ARGS="--network-plugin=cni"\n', mode: 0o644 },
      '/etc/kubernetes/kubelet.conf': { content: '', mode: 0o600 },
      '/etc/kubernetes/pki/ca.crt': { content: '', mode: 0o644 },
      ...(role === 'worker' ? {} : controlPlaneFiles()),
      ...files,
    },
  });
  const start = async (component: Component): Promise<void> => {
    const source = host.text(`/etc/kubernetes/manifests/${component}.yaml`);
    const pid = 100 + COMPONENTS.indexOf(component);
    if (source === undefined) return host.take(`/proc/${pid}/cmdline`);
    const { args } = await readManifest(source);
    const words = [`/usr/local/bin/${component}`, ...[...args].map(([name, value]) => `--${name}=${value}`)];
    host.put(`/proc/${pid}/cmdline`, words.join('\0'));
  };
  for (const component of COMPONENTS) await start(component);
  const { writeFile } = host;
  return {
    ...host,
    async writeFile(file) {
      await writeFile(file);
      for (const component of COMPONENTS) if (file.path.endsWith(`/${component}.yaml`)) await start(component);
    },
  };
}

function controlPlaneFiles(): Readonly<Record<string, MemoryFile>> {
  const manifests = COMPONENTS.map((component) => [
    `/etc/kubernetes/manifests/${component}.yaml`,
    { content: fixture(`${component}.yaml`), mode: 0o600 },
  ]);
  const conf = ['admin', 'scheduler', 'controller-manager'].map((name) => [
    `/etc/kubernetes/${name}.conf`,
    { content: '', mode: 0o600 },
  ]);
  const pki = ['apiserver', 'sa', 'etcd/ca', 'etcd/server'].flatMap((name) => [
    [`/etc/kubernetes/pki/${name}.crt`, { content: '', mode: 0o644 }],
    [`/etc/kubernetes/pki/${name}.key`, { content: '', mode: 0o600 }],
  ]);
  return {
    ...Object.fromEntries([...manifests, ...conf, ...pki]),
    '/var/lib/etcd': { type: 'directory', mode: 0o700 },
    '/var/lib/etcd/member': { type: 'directory', mode: 0o700 },
    '/var/lib/etcd/member/wal': { content: '', mode: 0o600 },
  };
}
