import type { FileModel, Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { parse, stringify } from 'smol-toml';
import { containerdStep } from '../../src/features/containerd/index.ts';
import { CriError } from '../../src/host/cri/call.ts';
import type { CriContainer, CriWorkloads } from '../../src/host/cri/queries.ts';
import { EMPTY_RECORD, type StepRecord } from '../../src/step/index.ts';
import type { Upgrade } from '../../src/step/upgrade-order.ts';
import { startHealthz } from './api-server.ts';
import { containerdModel } from './containerd-model.ts';
import { facts } from './facts.ts';
import { fileModel, hostModel } from './host-model.ts';
import { kubernetesModel } from './kubernetes-model.ts';
import { type MemoryHost, memoryHost } from './memory-host.ts';
import { upgradeCluster } from './upgrade-cluster.ts';

export const CONFIG = '/etc/containerd/config.toml';
export const KEPT = '/var/lib/machineadm/upgrade/containerd.json';
const UNIT = '/usr/lib/systemd/system/containerd.service';
export const SCRIPT = '/etc/init.d/containerd';
export const OLD_CONFIG = 'version = 2\n\n[plugins."io.containerd.grpc.v1.cri"]\nsandbox_image = "r/pause:1"\n';
export const VERSIONS = { from: '1.7.24', to: '2.1.9' };
export const UPGRADE: Upgrade = {
  ...{ from: 'v1.35.2', to: 'v1.35.2', subjects: ['containerd'], containerd: VERSIONS },
  drain: { by: 'machineadm' },
};
export const RECORD: StepRecord = { ...EMPTY_RECORD, bootstrap: 'done', upgrade: UPGRADE };
export const KEEP = 'upgrade-containerd-state/keep';
export const PROVE = 'upgrade-containerd/prove';
export const WATCH = { signal: new AbortController().signal, waitingFor: () => undefined, warn: () => undefined };
export const step = containerdStep({ healthyWithin: 200, healthyAgainWithin: 200 });

const UNKNOWN_PROCESS = { pid: undefined, startedAtMs: undefined };

export const WORKLOADS: CriWorkloads = {
  pods: [{ id: 'p1', name: 'kube-system/etcd-a' }],
  containers: [
    { id: 'c1', name: 'kube-system/etcd-a/etcd', startedAt: '100' },
    { id: 'c2', name: 'default/job/job', startedAt: '200' },
  ],
};

interface Wish {
  /** Versions of programs that do not start. */
  readonly broken?: readonly string[];
  /** What the new daemon lists. */
  readonly after?: Partial<CriWorkloads>;
  readonly exited?: readonly Partial<CriContainer>[];
  readonly startsNoPod?: string;
  /** A machine whose OpenRC has recorded no process. */
  readonly openrc?: true;
}

export function fileAt(path: string): FileModel {
  return fileModel(path, 'x', { mode: 0o755 });
}

export function model(different: Parameters<typeof containerdModel>[0] = {}, kubelet = 'v1.35.2'): Model {
  const kubernetes = kubernetesModel({ role: 'Worker', version: kubelet });
  const { node, ready } = kubernetes;
  return {
    ...hostModel(),
    containerd: containerdModel({ version: '2.1.9', sandboxImage: 'r/pause:1', ...different }),
    kubernetes: { ...kubernetes, node: { ...node, name: 'node-1' }, ready: { ...ready, timeoutMs: 2_000 } },
  };
}

/** A node whose daemon is the program that was there when it was last started: its content is what it prints as its version. */
export async function containerdNode(wish: Wish = {}) {
  const cluster = await upgradeCluster();
  const healthz = await startHealthz();
  const versionOf = (text: string | undefined) => /\d+\.\d+\.\d+/.exec(text ?? '')?.[0] ?? '';
  const knowsProcess = wish.openrc !== true;
  let running = '1.7.24';
  let pid = 100;
  const memory: MemoryHost = memoryHost({
    files: {
      ...cluster.files,
      '/var/lib/kubelet/config.yaml': `healthzPort: ${healthz.port}\n`,
      [CONFIG]: OLD_CONFIG,
      [wish.openrc === true ? SCRIPT : UNIT]: 'old unit\n',
      '/usr/bin/containerd': { content: 'containerd 1.7.24', mode: 0o755 },
      '/usr/bin/containerd-shim-runc-v2': { content: 'shim 1.7.24', mode: 0o755 },
      '/usr/bin/ctr': { content: 'ctr 1.7.24', mode: 0o755 },
      '/usr/sbin/runc': { content: 'runc 1.1', mode: 0o755 },
    },
    ...(wish.openrc === true ? { serviceManager: 'openrc' } : {}),
    services: { containerd: { active: true, enabled: true }, kubelet: { active: true, enabled: true } },
    programs: {
      containerd: ({ args, input }, host) =>
        args.includes('--version')
          ? { stdout: `containerd github.com/containerd/containerd ${versionOf(host.text('/usr/bin/containerd'))}\n` }
          : { stdout: typeof input === 'string' ? stringify(parse(input)) : '' },
      runc: () => ({}),
      'containerd-shim-runc-v2': () => ({}),
      findmnt: () => ({ status: 1 }),
    },
    cri: {
      version: async () => {
        if (wish.broken?.includes(running)) throw new CriError('/run/c.sock', 'Version', 14, 'connect ECONNREFUSED');
        return { runtimeName: 'containerd', runtimeVersion: running };
      },
      workloads: async () => ({ ...WORKLOADS, ...(running === '1.7.24' ? {} : wish.after) }),
      exitedContainers: async () => (wish.exited ?? []) as readonly CriContainer[],
      cgroupDriver: async () => undefined,
      configuration: async () => ({ cgroupDriver: undefined, sandboxImage: undefined, restrictOomScoreAdj: undefined }),
    },
    probePod: () => {
      if (wish.startsNoPod !== undefined) throw new CriError('/run/c.sock', 'RunPodSandbox', 2, wish.startsNoPod);
    },
  });
  const host: MemoryHost = {
    ...memory,
    service: async (name) => ({
      ...(await memory.service(name)),
      ...(name !== 'containerd' ? {} : knowsProcess ? { pid, startedAtMs: 1_000_000 } : UNKNOWN_PROCESS),
    }),
    services: {
      ...memory.services,
      async restart(name) {
        await memory.services.restart(name);
        if (name !== 'containerd') return;
        running = versionOf(memory.text('/usr/bin/containerd'));
        pid += 1;
        // A unit of the type notify.
        if (wish.broken?.includes(running) === true)
          throw new MachineadmError({
            reason: 'ServiceFailed',
            summary: 'containerd.service: exited 3',
            remedy: '',
          });
      },
    },
  };
  return {
    host,
    running: () => running,
    /** What the step of files does. */
    bring(version = '2.1.9') {
      for (const name of ['containerd', 'containerd-shim-runc-v2', 'ctr'])
        host.put(`/usr/bin/${name}`, { content: `${name} ${version}`, mode: 0o755 });
    },
    async [Symbol.asyncDispose]() {
      await cluster[Symbol.asyncDispose]();
      await healthz[Symbol.asyncDispose]();
    },
  };
}

export const at = (version: string) => ({
  facts: facts({ containerd: parseVersion(version), kubelet: parseVersion('v1.35.2') }),
});
