import { parse, stringify } from 'yaml';

/** What the kubeadm bootstrap provider makes of a KubeadmConfigSpec, as far as commands and files go. */
export interface ProviderMachine {
  readonly shell: 'sh' | 'bash';
  readonly script: string;
  readonly files: readonly {
    readonly path: string;
    readonly content: string;
    readonly mode: number;
    readonly owner: string;
  }[];
  /** EnvironmentFile= of the unit that runs the script. */
  readonly environmentFiles: readonly string[];
}

type Tree = ReturnType<typeof parse>;

const SUCCESS = '/run/cluster-api/bootstrap-success.complete';

/**
 * Composed from cluster-api bootstrap/kubeadm/pkg/{cloudinit,ignition/clc}: the files, and one script with the commands around
 * kubeadm. `secret` is the content of every Secret.
 */
export function providerMachine(spec: Tree, initializes: boolean, secret: string): ProviderMachine {
  const isIgnition = spec.format === 'ignition';
  const verb = initializes ? 'init' : 'join';
  const path = isIgnition ? '/etc/kubeadm.yml' : `/run/kubeadm/${initializes ? 'kubeadm' : 'kubeadm-join-config'}.yaml`;
  const before: string[] = spec.preKubeadmCommands ?? [];
  const after: string[] = spec.postKubeadmCommands ?? [];
  const run = `kubeadm ${verb} --config ${path}`;
  const script = isIgnition
    ? ['set -e', ...before, run, `mkdir -p /run/cluster-api && echo success > ${SUCCESS}`, `mv ${path} /tmp/`, ...after]
    : [...before, `${run}  && echo success > ${SUCCESS}`, ...after];
  const parts = parse(spec.ignition?.containerLinuxConfig?.additionalConfig ?? '', { version: '1.1' }) ?? {};
  const units: Tree[] = parts.systemd?.units ?? [];
  const dropIns = units
    .filter(({ name }) => name === 'kubeadm.service')
    .flatMap(({ dropins = [] }) => dropins as Tree[]);
  return {
    shell: isIgnition ? 'bash' : 'sh',
    script: `${script.join('\n')}\n`,
    files: [
      ...(spec.files ?? [])
        .filter(({ path: to }: Tree) => to !== '/dev/null')
        .map((file: Tree) => ({
          path: file.path,
          // A referenced secret is written without the line break that the provider adds: docs/convert.md.
          content: file.contentFrom === undefined ? `${String(file.content ?? '').replace(/\n*$/, '')}\n` : secret,
          mode: Number.parseInt(file.permissions || '0644', 8),
          owner: file.owner || 'root:root',
        })),
      ...(parts.storage?.files ?? [])
        .filter((file: Tree) => file.contents?.inline !== undefined)
        .map((file: Tree) => ({
          path: file.path,
          content: file.contents.inline,
          mode: file.mode ?? 0o644,
          owner: 'root:root',
        })),
      ...units
        .filter(({ name, contents }) => name !== 'kubeadm.service' && contents !== undefined)
        .map(({ name, contents }) => ({
          path: `/etc/systemd/system/${name}`,
          content: contents,
          mode: 0o644,
          owner: 'root:root',
        })),
      // Scripts look into it for what kubeadm does.
      ...(isIgnition
        ? [{ path: '/etc/kubeadm.sh', content: `#!/bin/bash\n${script.join('\n')}\n`, mode: 0o700, owner: 'root:root' }]
        : []),
      { path, content: kubeadmFile(spec, initializes), mode: 0o640, owner: 'root:root' },
    ],
    environmentFiles: dropIns.flatMap(({ contents }) =>
      [...String(contents).matchAll(/^EnvironmentFile=-?(\S+)$/gm)].map(([, file = '']) => file),
    ),
  };
}

function kubeadmFile(spec: Tree, initializes: boolean): string {
  const part = (kind: string, value: Tree = {}) =>
    stringify({ apiVersion: 'kubeadm.k8s.io/v1beta4', kind, ...value }, { lineWidth: 0 });
  return initializes
    ? `${part('ClusterConfiguration', spec.clusterConfiguration)}---\n${part('InitConfiguration', spec.initConfiguration)}`
    : part('JoinConfiguration', spec.joinConfiguration);
}
