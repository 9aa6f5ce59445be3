import { basename } from 'node:path/posix';
import { OLDEST_CONTAINERD } from '@machineadm/document/kubernetes-releases/containerd.ts';
import { OLDEST_MINOR } from '@machineadm/document/kubernetes-releases/minor.ts';
import { kubeletRefusal } from '@machineadm/document/kubernetes-releases/version-skew.ts';
import { compareVersions, type Version } from '@machineadm/document/text/program-version.ts';
import { broken, type Clause, type ClauseResult, kept, notApplicable, notProven, type Subject } from './clause.ts';
import { disabledCriPlugin } from './containerd-plugins.ts';
import { programs } from './image.ts';
import { kernelsOf, whyWithoutModule } from './kernels.ts';
import { executableOf, whyNotExecutable } from './program-files.ts';
import { startCommands, type Unit } from './unit-files.ts';

/** k/k cmd/kubeadm/app/preflight/checks.go: what it demands of every version, and what it warns of, or did. */
const DEMANDED = ['ip', 'mount', 'nsenter', 'iptables'];
const WISHED = ['conntrack', 'ebtables', 'ethtool', 'socat', 'tc', 'touch'];

const KUBELET = 'kubelet.service';
const CONFIGURATION = '/var/lib/kubelet/config.yaml';
const FLAGS = '/var/lib/kubelet/kubeadm-flags.env';

/** Runtimes that speak CRI, and the unit that their packages have. */
const RUNTIMES = [
  { program: 'containerd', unit: 'containerd.service' },
  { program: 'crio', unit: 'crio.service' },
] as const;

/** Clauses about an image that has Kubernetes in it. One that only prepares hosts has none of it. */
export const KUBERNETES_CLAUSES: readonly Clause[] = [
  forKubernetes({
    id: 'KUB-01',
    level: 'MUST',
    title: 'kubeadm 1.20 or newer, and a kubelet that is not newer than it and not older than it supports',
    check(subject) {
      const remedy = 'Install kubeadm and the kubelet in one version, for the architecture of the image.';
      const found: (readonly Version[])[] = [];
      for (const program of ['kubeadm', 'kubelet'] as const) {
        const path = subject.tree.which(program);
        if (path === undefined) return broken(`no ${program}`, remedy);
        const unfit = whyNotExecutable(subject.tree, path);
        if (unfit !== undefined) return broken(unfit, remedy);
        found.push(subject.versions(program));
      }
      return skewOf(found[0] ?? [], found[1] ?? [], remedy);
    },
  }),
  forKubernetes({
    id: 'KUB-02',
    level: 'MUST',
    title:
      "kubelet.service starts the kubelet with kubeadm's files: --config or KUBELET_CONFIG_ARGS, and kubeadm-flags.env",
    check(subject) {
      const { units } = subject;
      const unit = units.load(KUBELET);
      if (unit === undefined) {
        return units.enablement(KUBELET) === 'masked'
          ? notApplicable('it is masked (KUB-03)')
          : withoutDropIn('it does not exist');
      }
      const unfit = whyNotStarting(subject, unit, 'kubelet');
      if (unfit !== undefined) return unfit;
      const [command] = startCommands(subject.tree, unit);
      const [, configuration = ''] = / --config[= ](\S+)/.exec(` ${command?.args.join(' ')}`) ?? [];
      if (configuration !== CONFIGURATION) {
        return withoutDropIn(`${unit.path}: ExecStart= does not hand over --config=${CONFIGURATION}`);
      }
      const files = unit.list('Service', 'EnvironmentFile').map((value) => value.replace(/^-/, ''));
      return files.includes(FLAGS) && command?.variables.includes('KUBELET_KUBEADM_ARGS') === true
        ? kept(unit.path)
        : withoutDropIn(`${unit.path}: ExecStart= does not hand over the flags of ${FLAGS}`);
    },
  }),
  forKubernetes({
    id: 'KUB-03',
    level: 'MUST',
    title: 'the unit of the container runtime starts it, and neither it nor kubelet.service is masked',
    check(subject) {
      const { units } = subject;
      const runtime = runtimeOf(subject);
      for (const unit of [runtime.unit, KUBELET]) {
        if (units.enablement(unit) === 'masked') return broken(`${unit} is masked`, `Run systemctl unmask ${unit}.`);
      }
      const unit = units.load(runtime.unit);
      if (unit === undefined)
        return broken(`${runtime.unit} does not exist`, `Install ${runtime.program} with its unit.`);
      return whyNotStarting(subject, unit, runtime.program) ?? kept(unit.path);
    },
  }),
  forKubernetes({
    id: 'KUB-04',
    level: 'SHOULD',
    title: 'the container runtime and kubelet.service are enabled: a node comes back after a reboot',
    check(subject) {
      const off = [runtimeOf(subject).unit, KUBELET].flatMap((unit) => {
        const state = subject.units.enablement(unit);
        return state === 'enabled' ? [] : [`${unit} is ${state}`];
      });
      return off.length === 0 ? kept('enabled') : broken(off.join(', '), 'Enable them, or let host.services do it.');
    },
  }),
  forKubernetes({
    id: 'KUB-05',
    level: 'MUST',
    title: 'containerd 1.6 or newer, or CRI-O',
    check(subject) {
      const { program } = runtimeOf(subject);
      const path = subject.tree.which(program);
      const remedy = 'Install containerd 1.6 or newer, or CRI-O, for the architecture of the image.';
      if (path === undefined) return broken('neither containerd nor CRI-O', remedy);
      const unfit = whyNotExecutable(subject.tree, path);
      if (unfit !== undefined) return broken(unfit, remedy);
      if (program === 'crio') return kept(path);
      const versions = subject.versions('containerd');
      const text = versions.map((version) => version.text).join(' or ');
      const isNew = versions.map((version) => compareVersions(version, OLDEST_CONTAINERD) >= 0);
      if (isNew.length === 0 || (isNew.includes(true) && isNew.includes(false))) {
        return notProven(`the file of containerd does not name its version${text === '' ? '' : `: ${text}`}`);
      }
      return isNew.includes(true) ? kept(text) : broken(text, remedy);
    },
  }),
  forKubernetes({
    id: 'KUB-06',
    level: 'SHOULD',
    title: 'the configuration of containerd does not disable CRI',
    check(subject) {
      const { program, unit } = runtimeOf(subject);
      if (program !== 'containerd') return notApplicable(`the runtime is ${program}`);
      const disabled = disabledCriPlugin(subject.tree, subject.units.load(unit));
      if (disabled === undefined) return kept('on');
      if (disabled.plugin === undefined) return notProven(`${disabled.path} is not valid TOML`);
      return broken(
        `disabled_plugins of ${disabled.path} names ${disabled.plugin}`,
        'Take it out, or let containerRuntime.containerd of the document do it.',
      );
    },
  }),
  forKubernetes({
    id: 'KUB-07',
    level: 'MUST',
    title: `${DEMANDED.join(', ')}: kubeadm refuses a machine without them`,
    check: ({ tree }) => programs(tree, DEMANDED, 'Install iproute2, util-linux and iptables.'),
  }),
  forKubernetes({
    id: 'KUB-08',
    level: 'SHOULD',
    title: `${WISHED.join(', ')}: kubeadm before 1.32 warns if one is missing, and requires conntrack`,
    check: ({ tree }) => programs(tree, WISHED, 'Install conntrack, ebtables, ethtool, socat and iproute2.'),
  }),
  forKubernetes({
    id: 'KUB-09',
    level: 'SHOULD',
    title: 'the kernel has overlay and br_netfilter, built in or as modules',
    check(subject) {
      const kernels = kernelsOf(subject);
      if (kernels.length === 0) return notProven('no kernel in /lib/modules or /boot');
      const missing = kernels.flatMap((kernel) =>
        ['overlay', 'br_netfilter'].flatMap((module) => whyWithoutModule(subject, kernel, module) ?? []),
      );
      return missing.length === 0
        ? kept(kernels.join(', '))
        : broken(missing.join(', '), 'Install the modules of this kernel (linux-modules-extra, kernel-modules).');
    },
  }),
];

/** Whether kubeadm supports this kubelet; the versions are those that each may have. */
export function skewOf(ofKubeadm: readonly Version[], ofKubelet: readonly Version[], remedy: string): ClauseResult {
  const [kubeadm, kubelet] = [ofKubeadm[0], ofKubelet[0]];
  if (kubeadm === undefined || ofKubeadm.length > 1) return notProven('the file of kubeadm does not name its version');
  if (kubelet === undefined || ofKubelet.length > 1)
    return notProven('the file of the kubelet does not name its version');
  const pair = `kubeadm ${kubeadm.text}, kubelet ${kubelet.text}`;
  if (kubeadm.major === 1 && kubeadm.minor < OLDEST_MINOR)
    return broken(pair, `Ship Kubernetes 1.${OLDEST_MINOR} or newer.`);
  // A kubelet may not be newer than the control plane, which kubeadm makes of its own version.
  return kubeletRefusal(kubelet, kubeadm, kubeadm) === undefined ? kept(pair) : broken(pair, remedy);
}

/** The clause applies to an image with Kubernetes. */
function forKubernetes(clause: Clause): Clause {
  const check = (subject: Subject): ClauseResult =>
    subject.profile === 'kubernetes' ? clause.check(subject) : notApplicable('no Kubernetes in this profile');
  return { ...clause, check };
}

/** The runtime that a boot starts; of several that it does not start, the first that is installed. */
function runtimeOf(subject: Subject): (typeof RUNTIMES)[number] {
  const installed = RUNTIMES.filter(({ program }) => subject.tree.which(program) !== undefined);
  const started = installed.find(({ unit }) => subject.units.enablement(unit) === 'enabled');
  return started ?? installed[0] ?? RUNTIMES[0];
}

/** Why a unit does not start this program; undefined where it does. */
function whyNotStarting({ tree }: Subject, unit: Unit, program: string): ClauseResult | undefined {
  const commands = startCommands(tree, unit);
  const [command] = commands;
  const remedy = `Install ${program} with the unit of its packages, for the architecture of the image.`;
  if (command === undefined) return broken(`${unit.path}: no ExecStart=`, remedy);
  // systemd.service(5): more than one is refused, but for Type=oneshot. A drop-in has to empty ExecStart= first.
  if (commands.length > 1 && unit.last('Service', 'Type') !== 'oneshot') {
    return broken(`${unit.path}: more than one ExecStart=`, 'Begin the drop-in with an empty ExecStart=.');
  }
  const path = tree.which(command.program);
  if (path === undefined) return broken(`${unit.path}: ${command.program} of ExecStart= does not exist`, remedy);
  const unfit = whyNotExecutable(tree, path);
  if (unfit !== undefined) return broken(unfit, remedy);
  if (basename(command.program) === program) return undefined;
  return executableOf(tree, path).kind === 'script'
    ? notProven(`${unit.path} starts the script ${path}`)
    : broken(`${unit.path} starts ${command.program}, and not ${program}`, remedy);
}

function withoutDropIn(text: string): ClauseResult {
  return broken(text, "Ship the drop-in of Kubernetes' own packages (k/release, 10-kubeadm.conf).");
}
