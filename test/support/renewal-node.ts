import { createHash } from 'node:crypto';
import { readManifest } from '@machineadm/kubeadm/api-server/manifest.ts';
import { kubeconfig, newAuthority } from './api-server.ts';
import { type MemoryHost, type MemoryProgram, memoryHost } from './memory-host.ts';
import { type ClusterState, upgradeCluster } from './upgrade-cluster.ts';
import { startUpgradeEtcd } from './upgrade-etcd.ts';

const PKI = '/etc/kubernetes/pki';
const MANIFESTS = '/etc/kubernetes/manifests';
const HOLDERS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;

/** The certificates of kubeadm: their files, authority and subject. */
const CERTIFICATES: Readonly<Record<string, readonly [string, 'ca' | 'front-proxy-ca' | 'etcd/ca', string]>> = {
  apiserver: ['apiserver', 'ca', 'kube-apiserver'],
  'apiserver-kubelet-client': ['apiserver-kubelet-client', 'ca', 'kube-apiserver-kubelet-client'],
  'front-proxy-client': ['front-proxy-client', 'front-proxy-ca', 'front-proxy-client'],
  'apiserver-etcd-client': ['apiserver-etcd-client', 'etcd/ca', 'kube-apiserver-etcd-client'],
  'etcd-server': ['etcd/server', 'etcd/ca', 'etcd'],
  'etcd-peer': ['etcd/peer', 'etcd/ca', 'etcd'],
  'etcd-healthcheck-client': ['etcd/healthcheck-client', 'etcd/ca', 'kube-etcd-healthcheck-client'],
};
const KUBECONFIGS: Readonly<Record<string, string>> = {
  'admin.conf': 'kubernetes-admin',
  'controller-manager.conf': 'system:kube-controller-manager',
  'scheduler.conf': 'system:kube-scheduler',
};
export const ALL_NAMES: readonly string[] = [...Object.keys(CERTIFICATES), ...Object.keys(KUBECONFIGS)];

/** What is different of the node in a test. */
export interface RenewalNodeWish {
  /** For how many days a certificate of this name is valid; default 300. */
  readonly days?: Readonly<Record<string, number>>;
  /** Of those that kubeadm makes; default 365. */
  readonly newDays?: number;
  readonly cluster?: Partial<ClusterState>;
  /** Members of etcd; default one. */
  readonly members?: number;
  /** What kubeadm does instead of renewing a certificate. */
  readonly kubeadm?: (name: string, host: MemoryHost) => ReturnType<MemoryProgram> | undefined;
  /** What kubeadm does with other commands. */
  readonly other?: MemoryProgram;
  /** Whether the kubelet starts the pod of a manifest that was written; default: it does. */
  readonly starts?: (component: string, times: number) => boolean;
  /** Called before each mutation by machineadm; what it throws ends the run. */
  readonly before?: (what: string) => void;
}

/**
 * A control plane as kubeadm makes it, with its own etcd: servers of TLS show the certificates of their files, as they were when the
 * stand-in of the kubelet started them.
 */
export async function renewalNode(wish: RenewalNodeWish = {}) {
  const authorities = {
    ca: newAuthority('kubernetes'),
    'front-proxy-ca': newAuthority('front-proxy-ca'),
    'etcd/ca': newAuthority('etcd-ca'),
  };
  const cluster = await upgradeCluster(wish.cluster ?? {}, authorities.ca);
  const etcd = await startUpgradeEtcd(wish.members ?? 1, authorities['etcd/ca']);
  const filesFor = (name: string, days: number): Readonly<Record<string, string>> => {
    const [file, authority, subject] = CERTIFICATES[name] ?? [];
    if (file === undefined || authority === undefined || subject === undefined) {
      const client = authorities.ca.issue(KUBECONFIGS[name] ?? name, undefined, days);
      return { [`/etc/kubernetes/${name}`]: kubeconfig(cluster.server.url, authorities.ca.certificate, client) };
    }
    const { certificate, key } = authorities[authority].issue(subject, ['127.0.0.1'], days);
    return { [`${PKI}/${file}.crt`]: certificate, [`${PKI}/${file}.key`]: key };
  };
  const { port } = new URL(cluster.server.url);
  const commands: Readonly<Record<string, readonly string[]>> = {
    'kube-apiserver': [
      'kube-apiserver',
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--tls-cert-file=${PKI}/apiserver.crt`,
    ],
    'kube-controller-manager': ['kube-controller-manager', '--secure-port=0'],
    'kube-scheduler': ['kube-scheduler', '--secure-port=0'],
  };
  const manifests = Object.fromEntries(
    Object.entries(commands).map(([name, command]) => [
      `${MANIFESTS}/${name}.yaml`,
      `${JSON.stringify({ apiVersion: 'v1', kind: 'Pod', spec: { containers: [{ name, image: `registry.k8s.io/${name}:v1.35.2`, command }] } })}\n`,
    ]),
  );
  const made: string[] = [];
  const memory = memoryHost({
    files: {
      ...cluster.files,
      ...etcd.filesOf(0),
      ...manifests,
      ...Object.fromEntries(
        Object.entries(authorities).flatMap(([name, { certificate, key }]) => [
          [`${PKI}/${name}.crt`, certificate],
          [`${PKI}/${name}.key`, { content: key, mode: 0o600 }],
        ]),
      ),
      ...Object.assign({}, ...ALL_NAMES.map((name) => filesFor(name, wish.days?.[name] ?? 300))),
    },
    services: { kubelet: { active: true } },
    programs: {
      findmnt: () => ({ status: 1 }),
      kubeadm: ({ args = [] }, host) => {
        const [, , name = ''] = args;
        if (args[0] !== 'certs' || args[1] !== 'renew')
          return wish.other?.({ program: 'kubeadm', args }, host) ?? { status: 1 };
        wish.before?.(`kubeadm ${name}`);
        const other = wish.kubeadm?.(name, host);
        if (other !== undefined) return other;
        made.push(name);
        for (const [path, content] of Object.entries(filesFor(name, wish.newDays ?? 365))) host.put(path, content);
        return { stdout: `certificate ${name} renewed\n` };
      },
    },
  });
  const started = new Map<string, number>();
  const restarts: string[] = [];
  let pid = 100;
  const start = async (component: string): Promise<void> => {
    const manifest = await readManifest(memory.text(`${MANIFESTS}/${component}.yaml`) ?? '');
    const command = manifest?.command ?? [];
    const old = started.get(component);
    for (const file of old === undefined ? [] : ['cmdline', 'stat']) memory.take(`/proc/${old}/${file}`);
    pid += 1;
    started.set(component, pid);
    memory.put(`/proc/${pid}/cmdline`, `${command.join('\0')}\0`);
    memory.put(`/proc/${pid}/stat`, `${pid} (${component}) S ${'0 '.repeat(18)}${pid} 0`);
    const shown = (file: string) => ({
      certificate: memory.text(`${PKI}/${file}.crt`) ?? '',
      key: memory.text(`${PKI}/${file}.key`) ?? '',
    });
    if (component === 'kube-apiserver') cluster.server.shows(shown('apiserver'));
    if (component === 'etcd') etcd.shows(0, shown('etcd/server'));
  };
  for (const component of HOLDERS) await start(component);
  const host: MemoryHost = {
    ...memory,
    async writeFile(file) {
      wish.before?.(`write ${file.path}`);
      await memory.writeFile(file);
      const component = HOLDERS.find((name) => file.path === `${MANIFESTS}/${name}.yaml`);
      if (component === undefined) return;
      restarts.push(component);
      const times = restarts.filter((one) => one === component).length;
      if (wish.starts?.(component, times) ?? true) await start(component);
    },
    async removeFile(path) {
      wish.before?.(`remove ${path}`);
      await memory.removeFile(path);
    },
  };
  return {
    ...{ host, state: cluster.state, etcd, authorities, restarts },
    /** Starts all pods anew, as a boot does. */
    async reboot() {
      for (const component of HOLDERS) await start(component);
    },
    /** What kubeadm renewed. */
    renewed: made,
    /** The digests of certificates and keys, by their paths. */
    pki: () =>
      Object.fromEntries(
        ALL_NAMES.flatMap((name) => Object.keys(filesFor(name, 1))).map((path) => [path, digest(memory.text(path))]),
      ),
    async [Symbol.asyncDispose]() {
      await cluster[Symbol.asyncDispose]();
      await etcd[Symbol.asyncDispose]();
    },
  };
}

function digest(text = ''): string {
  return createHash('sha256').update(text).digest('hex');
}
