import { broken, type Clause, type Finding, kept, type Subject, unchecked } from './clause.ts';
import { programs } from './image.ts';
import { enablement, readUnit, settings } from './unit-files.ts';

/** k/k cmd/kubeadm/app/preflight/checks.go: what it demands of every version, and what it warns of, or did. */
const DEMANDED = ['ip', 'mount', 'nsenter', 'iptables'];
const WISHED = ['conntrack', 'ebtables', 'ethtool', 'socat', 'tc', 'touch'];

/** Clauses about an image that has Kubernetes in it. One that only prepares hosts has none of it. */
export const KUBERNETES_CLAUSES: readonly Clause[] = [
  {
    id: 'KUB-01',
    level: 'MUST',
    title: 'kubeadm 1.20 or newer, and a kubelet that is not newer than it',
    look: forKubernetes(async ({ facts: { kubeadm, kubelet } }) => {
      if (kubeadm === undefined) return broken('no kubeadm', 'Install kubeadm in the version of the kubelet.');
      if (kubelet === undefined) return broken('no kubelet', 'Install the kubelet in the version of kubeadm.');
      const pair = `kubeadm ${kubeadm.text}, kubelet ${kubelet.text}`;
      if (kubeadm.major === 1 && kubeadm.minor < 20) return broken(pair, 'Ship Kubernetes 1.20 or newer.');
      // https://kubernetes.io/releases/version-skew-policy/
      return kubelet.minor > kubeadm.minor ? broken(pair, 'Ship both in one version.') : kept(pair);
    }),
  },
  {
    id: 'KUB-02',
    level: 'MUST',
    title: "kubelet.service reads kubeadm's files: --config or KUBELET_CONFIG_ARGS, and kubeadm-flags.env",
    look: forKubernetes(async ({ host }) => {
      const unit = await readUnit(host, 'kubelet.service');
      if (unit === undefined) return withoutSystemd('kubelet.service does not exist');
      const remedy = "Ship the drop-in of Kubernetes' own packages (k/release, 10-kubeadm.conf).";
      const start = settings(unit.text, 'ExecStart').at(-1) ?? '';
      const files = settings(unit.text, 'EnvironmentFile').map((value) => value.replace(/^-/, ''));
      if (!unit.text.includes('/var/lib/kubelet/config.yaml')) {
        return broken(`${unit.path} does not name /var/lib/kubelet/config.yaml`, remedy);
      }
      return files.includes('/var/lib/kubelet/kubeadm-flags.env') && start.includes('KUBELET_KUBEADM_ARGS')
        ? kept(unit.path)
        : broken(`${unit.path} does not hand over /var/lib/kubelet/kubeadm-flags.env`, remedy);
    }),
  },
  {
    id: 'KUB-03',
    level: 'MUST',
    title: 'neither kubelet.service nor containerd.service is masked, and containerd.service is there',
    look: forKubernetes(async ({ host }) => {
      const states: string[] = [];
      for (const unit of ['containerd.service', 'kubelet.service']) {
        const state = await enablement(host, unit);
        if (state === undefined) return unchecked('there is no systemctl');
        if (state.startsWith('masked')) return broken(`${unit} is masked`, `Run systemctl unmask ${unit}.`);
        if (unit === 'containerd.service' && (await readUnit(host, unit)) === undefined) {
          return broken(`${unit} does not exist`, 'Install containerd with its unit.');
        }
        states.push(`${unit} ${state}`);
      }
      return kept(states.join(', '));
    }),
  },
  {
    id: 'KUB-04',
    level: 'SHOULD',
    title: 'containerd.service and kubelet.service are enabled: a node comes back after a reboot',
    look: forKubernetes(async ({ host }) => {
      const off: string[] = [];
      for (const unit of ['containerd.service', 'kubelet.service']) {
        const state = await enablement(host, unit);
        if (state === undefined) return unchecked('there is no systemctl');
        if (!/^(enabled|static|alias|generated)/.test(state)) off.push(`${unit} is ${state}`);
      }
      return off.length === 0 ? kept('enabled') : broken(off.join(', '), 'Enable them, or let host.services do it.');
    }),
  },
  {
    id: 'KUB-05',
    level: 'MUST',
    title: 'containerd 1.6 or newer, or another runtime that the document names in kubernetes.node.criSocket',
    look: forKubernetes(async ({ facts: { containerd } }) => {
      if (containerd === undefined) return unchecked('containerd is not installed; the document must name a runtime');
      const isNew = containerd.major > 1 || containerd.minor >= 6;
      return isNew ? kept(containerd.text) : broken(containerd.text, 'Ship containerd 1.6 or newer.');
    }),
  },
  {
    id: 'KUB-06',
    level: 'SHOULD',
    title: "containerd's configuration leaves CRI on",
    look: forKubernetes(async ({ host }) => {
      const text = await host.readText('/etc/containerd/config.toml');
      if (text === undefined) return kept("containerd's defaults");
      // The packages of Docker ship it with disabled_plugins = ["cri"].
      return /^[ \t]*disabled_plugins\s*=\s*\[[^[\]]*["'](?:io\.containerd\.grpc\.v1\.)?cri["']/m.test(text)
        ? broken('disabled_plugins names cri', 'Take it out, or let containerRuntime.containerd of the document do it.')
        : kept('on');
    }),
  },
  {
    id: 'KUB-07',
    level: 'MUST',
    title: `${DEMANDED.join(', ')}: kubeadm refuses a machine without`,
    look: forKubernetes(
      async ({ host }) => await programs(host, DEMANDED, 'Install iproute2, util-linux and iptables.'),
    ),
  },
  {
    id: 'KUB-08',
    level: 'SHOULD',
    title: `${WISHED.join(', ')}: kubeadm before 1.32 warns where one is missing, and demands conntrack`,
    look: forKubernetes(
      async ({ host }) => await programs(host, WISHED, 'Install conntrack, ebtables, ethtool, socat and iproute2.'),
    ),
  },
  {
    id: 'KUB-09',
    level: 'SHOULD',
    title: 'the kernel has overlay and br_netfilter, built in or as modules',
    look: forKubernetes(async ({ host }) => {
      const missing: string[] = [];
      for (const module of ['overlay', 'br_netfilter']) {
        if ((await host.stat(`/sys/module/${module}`)) !== undefined) continue;
        const { status } = await host.query({ program: 'modprobe', args: ['-n', '-q', module] });
        if (status !== 0) missing.push(module);
      }
      return missing.length === 0
        ? kept('there')
        : broken(
            `missing: ${missing.join(', ')}`,
            'Install the modules of this kernel (linux-modules-extra, kernel-modules).',
          );
    }),
  },
];

/** The clause holds for an image with Kubernetes: nothing is asked of one that has none of its programs. */
function forKubernetes(look: Clause['look']): Clause['look'] {
  return async (subject: Subject) => {
    const { kubeadm, kubelet } = subject.facts;
    if (kubeadm === undefined && kubelet === undefined) return unchecked('no Kubernetes in this image');
    return await look(subject);
  };
}

function withoutSystemd(text: string): Finding {
  return broken(text, "Install the kubelet with the unit and the drop-in of Kubernetes' own packages.");
}
