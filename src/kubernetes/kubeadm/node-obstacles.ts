import type { KubernetesModel, Model } from '@machineadm/document/model/index.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import type { StepId } from '@machineadm/document/ownership/step-ids.ts';
import { LONGEST_NODE_NAME, NODE_NAME_TOO_LONG } from '@machineadm/document/sections/kubernetes/checks-identity.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { member, strings, text } from '@machineadm/document/values/untyped.ts';
import { KUBELET_KERNEL_SETTINGS } from '@machineadm/hardening/controls/build.ts';
import { nodeIPs } from '@machineadm/kubeadm/arguments.ts';
import { hasCgroupV2 } from '../../host/linux/cgroups.ts';
import type { Facts, NetworkInterface } from '../../host/seam/facts.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { NODE_NAME } from '../../host/seam/node-name.ts';

/** A reason for which the kubelet or the API server of this machine would not come up. */
export interface NodeObstacle {
  readonly reason: Reason;
  readonly what: string;
  readonly remedy: string;
  readonly field: string;
  readonly severity?: 'warning';
  /** The step that may change what was found. */
  readonly broughtBy?: StepId;
}

const CONFIG = 'kubernetes.node.kubelet.config';
/** From here on kubeadm asks the kubelet at its own address (k/k cmd/kubeadm/app/util/apiclient/wait.go). */
const KUBEADM_WITHOUT_LOCALHOST = 31;

/** What is wrong with the machine itself for this node: its name, its addresses, its kernel and its control groups. */
export async function nodeObstacles(
  host: QueryHost,
  { kubernetes, model, facts }: { readonly kubernetes: KubernetesModel; readonly model: Model; readonly facts: Facts },
): Promise<readonly NodeObstacle[]> {
  if (facts.platform !== 'linux') return [];
  return [
    ...nameObstacles(kubernetes, model, facts),
    ...addressObstacles(kubernetes, model, facts.interfaces),
    ...(await localhostObstacles(host, kubernetes, model)),
    ...(await kernelObstacles(host, kubernetes, model)),
    ...(await cgroupObstacles(host, kubernetes)),
    ...(await controllerObstacles(host)),
  ];
}

/** `validate` judges names that the document says. */
function nameObstacles({ node }: KubernetesModel, { host }: Model, { hostname }: Facts): readonly NodeObstacle[] {
  if (node.name !== undefined || host.hostname !== undefined) return [];
  const isLong = hostname.length > LONGEST_NODE_NAME;
  if (!isLong && NODE_NAME.test(hostname.toLowerCase())) return [];
  const why = isLong ? NODE_NAME_TOO_LONG : 'a Node has lower-case letters, digits, "-" and "."';
  return [
    {
      reason: 'NodeNameInvalid',
      what: `the host name ${hostname} cannot name the Node: ${why}`,
      remedy: 'Set kubernetes.node.name or host.hostname.',
      field: 'kubernetes.node.name',
    },
  ];
}

function addressObstacles(
  { role, node, controlPlane }: KubernetesModel,
  { host }: Model,
  interfaces: readonly NetworkInterface[] | undefined,
): readonly NodeObstacle[] {
  if (interfaces === undefined) return [];
  const own = new Set(interfaces.flatMap(({ addresses }) => addresses.map(canonicalAddress)));
  const { advertiseAddress } = controlPlane.apiEndpoint;
  const wanted = [
    ...(role === 'Worker' || advertiseAddress === undefined
      ? []
      : [
          {
            address: advertiseAddress,
            reason: 'AdvertiseAddressNotLocal' as const,
            field: 'kubernetes.controlPlane.apiEndpoint.advertiseAddress',
            what: 'the advertise address',
          },
        ]),
    ...nodeIPs(node.kubelet.args).map((address) => ({
      address,
      reason: 'NodeIPNotFound' as const,
      field: 'kubernetes.node.kubelet.args',
      what: 'the node-ip',
    })),
  ];
  return wanted
    .filter(({ address }) => !isUnspecified(address) && !own.has(canonicalAddress(address)))
    .map(({ address, reason, field, what }) => ({
      reason,
      what: `no interface of this machine has ${what} ${address} (${field}); there are ${listed(interfaces)}`,
      remedy: `Bring the interface up before the run, or correct ${field}.`,
      field,
      ...(host.network === undefined ? {} : { broughtBy: 'network' as const }),
    }));
}

function listed(interfaces: readonly NetworkInterface[]): string {
  const named = interfaces.filter(({ name }) => name !== 'lo');
  return named.map(({ name, addresses }) => `${name} ${addresses.join(' ')}`).join(', ') || 'none but lo';
}

function isUnspecified(address: string): boolean {
  return /^[0:.]+$/.test(address);
}

/** One spelling of each address: `FD00::0:5` and `fd00::5` are the same. */
export function canonicalAddress(address: string): string {
  if (!address.includes(':')) return address;
  try {
    return new URL(`http://[${address}]/`).hostname;
  } catch {
    return address.toLowerCase();
  }
}

const LOOPBACK = /^(?:127\.|::1$|::ffff:127\.)/;

/** kubeadm asks the kubelet at http://localhost:10248; other programs of the node use the name, too. */
async function localhostObstacles(
  host: QueryHost,
  { version }: KubernetesModel,
  { host: wanted }: Model,
): Promise<readonly NodeObstacle[]> {
  const { status, stdout } = await host.query({ program: 'getent', args: ['ahosts', 'localhost'], timeoutMs: 5_000 });
  if (status !== 0 && status !== 2) return [];
  const addresses = [...new Set(stdout.split('\n').flatMap((line) => /^\S+/.exec(line)?.[0] ?? []))];
  const elsewhere = addresses.filter((address) => !LOOPBACK.test(address));
  if (addresses.length > 0 && elsewhere.length === 0) return [];
  const found =
    addresses.length === 0 ? 'does not resolve' : `leads to ${elsewhere.join(', ')}, and not to this machine`;
  const isOld = (parseVersion(version)?.minor ?? 0) < KUBEADM_WITHOUT_LOCALHOST;
  const writer = wanted.files.some(({ path }) => path === '/etc/hosts')
    ? 'files'
    : wanted.hosts === undefined
      ? undefined
      : 'hosts';
  return [
    {
      reason: 'LocalhostNotLocal',
      what: `localhost ${found}`,
      remedy: 'Put "127.0.0.1 localhost" into /etc/hosts, as its first line about localhost.',
      field: 'kubernetes',
      ...(isOld ? {} : { severity: 'warning' as const }),
      ...(writer === undefined ? {} : { broughtBy: writer }),
    },
  ];
}

/** With protectKernelDefaults the kubelet compares and does not set (k/k pkg/kubelet/cm/container_manager_linux.go). */
async function kernelObstacles(
  host: QueryHost,
  { node }: KubernetesModel,
  { host: { sysctl } }: Model,
): Promise<readonly NodeObstacle[]> {
  const flag = node.kubelet.args.findLast(({ name }) => name === 'protect-kernel-defaults')?.value;
  if (flag === 'false' || (flag === undefined && node.kubelet.config.protectKernelDefaults !== true)) return [];
  const different: string[] = [];
  const settings: string[] = [];
  for (const [key, value] of Object.entries(KUBELET_KERNEL_SETTINGS)) {
    const planned = sysctl.find((setting) => setting.key.replaceAll('.', '/') === key)?.value;
    const actual = planned ?? (await host.readText(`/proc/sys/${key}`))?.trim();
    if (actual === undefined || actual === value) continue;
    const name = key.replaceAll('/', '.');
    different.push(`${name} is ${actual}, not ${value}`);
    settings.push(`${name}: "${value}"`);
  }
  if (different.length === 0) return [];
  return [
    {
      reason: 'KernelDefaultsMismatch',
      what: `${CONFIG}.protectKernelDefaults: the kubelet would not start: ${different.join('; ')}`,
      remedy: `Add to host.sysctl: {${settings.join(', ')}}.`,
      field: `${CONFIG}.protectKernelDefaults`,
    },
  ];
}

/** Controllers in which the kubelet looks for a reserved group (k/k pkg/kubelet/cm/cgroup_manager_linux.go). */
const CONTROLLERS_V1 = ['cpu', 'cpuset', 'memory', 'systemd', 'pids', 'hugetlb'];

/** A reserved control group that is enforced must exist: the kubelet does not create it. */
async function cgroupObstacles(host: QueryHost, { node }: KubernetesModel): Promise<readonly NodeObstacle[]> {
  const { config, args } = node.kubelet;
  const said = (flag: string) => args.findLast(({ name }) => name === flag)?.value;
  const enforced = said('enforce-node-allocatable')?.split(',') ?? strings(member(config, 'enforceNodeAllocatable'));
  const found: NodeObstacle[] = [];
  const isUnified = await hasCgroupV2(host);
  for (const kind of ['system', 'kube'] as const) {
    if (!enforced.some((name) => name.trim().startsWith(`${kind}-reserved`))) continue;
    const key = `${kind}ReservedCgroup`;
    const group = (said(`${kind}-reserved-cgroup`) ?? text(member(config, key)))?.replace(/^\/*/, '/');
    if (group === undefined) continue; // The kubelet refuses it, as validation of its configuration does.
    const missing: string[] = [];
    if (isUnified) {
      if ((await host.stat(`/sys/fs/cgroup${group}`)) === undefined) missing.push(`/sys/fs/cgroup${group}`);
    } else {
      for (const controller of CONTROLLERS_V1) {
        const root = `/sys/fs/cgroup/${controller}`;
        if ((await host.stat(root)) === undefined) continue;
        if ((await host.stat(`${root}${group}`)) === undefined) missing.push(`${root}${group}`);
      }
    }
    if (missing.length === 0) continue;
    found.push({
      reason: 'ContainerManagerFailed',
      what: `${CONFIG}.${key}: ${group} cannot be enforced here: ${missing.join(', ')} ${missing.length === 1 ? 'does' : 'do'} not exist`,
      remedy: `${isUnified ? 'Create the group (a slice of systemd)' : 'Boot with cgroup v2, create the group in each of these controllers'}, or enforce pods only (enforceNodeAllocatable: [pods]).`,
      field: `${CONFIG}.${key}`,
    });
  }
  return found;
}

/** k/k pkg/kubelet/cm/container_manager_linux.go, validateSystemRequirements: with cgroup v1 each must be mounted. */
const REQUIRED_V1 = ['cpu', 'cpuacct', 'cpuset', 'memory'];

async function controllerObstacles(host: QueryHost): Promise<readonly NodeObstacle[]> {
  const mounted = ((await host.readText('/proc/self/mounts')) ?? '').split('\n').flatMap((line) => {
    const [, , type, options = ''] = line.split(' ');
    return type === 'cgroup' ? options.split(',') : [];
  });
  const missing = mounted.length === 0 ? [] : REQUIRED_V1.filter((name) => !mounted.includes(name));
  if (missing.length === 0) return [];
  return [
    {
      reason: 'ContainerManagerFailed',
      what: `the kubelet would not start: of cgroup v1, ${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not mounted`,
      remedy: 'Mount it below /sys/fs/cgroup, or boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1).',
      field: 'kubernetes',
    },
  ];
}
