import { readManifest } from '@machineadm/kubeadm/api-server/manifest.ts';
import { parseAllDocuments } from 'yaml';
import type { MemoryHost, MemoryProgram } from './memory-host.ts';
import { type RenewalNodeWish, renewalNode } from './renewal-node.ts';

const ROOT = '/run/machineadm/api-server';
const MANIFESTS = '/etc/kubernetes/manifests';
/** The pods that kubeadm writes by a phase, and where their settings are in its configuration. */
const PHASES: Readonly<Record<string, readonly [string, readonly string[]]>> = {
  'control-plane controller-manager': ['kube-controller-manager', ['controllerManager']],
  'control-plane scheduler': ['kube-scheduler', ['scheduler']],
  'etcd local': ['etcd', ['etcd', 'local']],
};

interface Section {
  readonly extraArgs?: readonly { readonly name: string; readonly value: string }[];
  readonly extraEnvs?: readonly object[];
  readonly extraVolumes?: readonly { readonly name: string; readonly hostPath: string; readonly mountPath: string }[];
}

export interface ControlPlaneNodeWish extends Omit<RenewalNodeWish, 'other' | 'kubeadm'> {
  /** Output of `kubeadm upgrade diff`. */
  readonly diff?: string;
  /** Whether kubeadm can write to the cluster. */
  readonly records?: () => boolean;
  /** What kubeadm does to a manifest that it writes. */
  readonly patch?: (words: readonly string[]) => readonly string[];
}

/** A control plane whose kubeadm writes manifests with the arguments of its configuration, as the real one does. */
export async function controlPlaneNode(wish: ControlPlaneNodeWish = {}) {
  const base = new Map<string, readonly string[]>();
  const recorded: object[] = [];
  const other: MemoryProgram = async ({ args = [] }, host) => {
    if (args[0] === 'upgrade' && args[1] === 'diff') return { stdout: wish.diff ?? '' };
    const phase = `${args[2]} ${args[3]}`;
    const [first] = parseAllDocuments(host.text(`${ROOT}/kubeadm.yaml`) ?? '');
    const configuration: Record<string, unknown> = first?.toJS() ?? {};
    if (phase === 'upload-config kubeadm') {
      if (wish.records?.() === false) return { status: 1, stderr: 'error: the server is not there\n' };
      node.state.configuration = configuration;
      recorded.push(configuration);
      return {};
    }
    const [pod, path] = PHASES[phase] ?? [];
    if (pod === undefined || path === undefined) return { status: 1, stderr: `error: no phase ${phase}\n` };
    const section: Section = path.reduce<unknown>((value, name) => Object(value)[name], configuration) ?? {};
    host.put(`${ROOT}${MANIFESTS}/${pod}.yaml`, manifestOf(pod, base.get(pod) ?? [pod], section, wish.patch));
    return {};
  };
  const node = await renewalNode({ ...wish, other });
  for (const pod of ['kube-controller-manager', 'kube-scheduler', 'etcd'])
    base.set(pod, await commandOf(node.host, pod));
  return { ...node, recorded, command: (pod: string) => commandOf(node.host, pod) };
}

export type ControlPlaneNode = Awaited<ReturnType<typeof controlPlaneNode>>;

async function commandOf(host: MemoryHost, pod: string): Promise<readonly string[]> {
  return (await readManifest(host.text(`${MANIFESTS}/${pod}.yaml`) ?? ''))?.command ?? [];
}

function manifestOf(
  pod: string,
  base: readonly string[],
  { extraArgs = [], extraEnvs = [], extraVolumes = [] }: Section,
  patch = (words: readonly string[]) => words,
): string {
  const [program = pod, ...words] = base;
  const names = extraArgs.map(({ name }) => name);
  // As for the first member of a cluster.
  const isOwn = (word: string) =>
    !names.includes(/^--([^=]+)/.exec(word)?.[1] ?? '') && !word.includes('--initial-cluster');
  const args = [...words.filter(isOwn), ...extraArgs.map(({ name, value }) => `--${name}=${value}`)];
  const container = {
    ...{ name: pod, image: `registry.k8s.io/${pod}:v1.35.2`, command: [program, ...patch(args)] },
    ...(extraEnvs.length === 0 ? {} : { env: extraEnvs }),
    volumeMounts: extraVolumes.map(({ name, mountPath }) => ({ name, mountPath })),
  };
  const volumes = extraVolumes.map(({ name, hostPath }) => ({ name, hostPath: { path: hostPath } }));
  return `${JSON.stringify({ apiVersion: 'v1', kind: 'Pod', spec: { containers: [container], volumes } })}\n`;
}
