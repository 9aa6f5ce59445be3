import { createHash, randomInt, X509Certificate } from 'node:crypto';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { has } from '@machineadm/document/kubernetes-releases/features.ts';
import { stringify } from 'yaml';
import { buildCluster, type ClusterArtefacts } from '../lab/artefacts.ts';
import { destroyMachines, freeAddresses, listMachines, startMachine } from '../lab/fleet.ts';
import { GATEWAY } from '../lab/host-changes.ts';
import type { Machine } from '../lab/machine.ts';

/** Sources of the documents of its machines. */
export const SOURCES = join(import.meta.dirname, 'lab');
/** Where the machines have their document: three sources, merged in the order of their names. */
const DOCUMENT = '/etc/machineadm/bootstrap.d';

/** What the user asked for. */
export interface LabOptions {
  /** Machines that join the control plane. */
  readonly workers: number;
  /** `v1.37.x`, `debian`; undefined: what can be had at once. */
  readonly kubernetes?: string | undefined;
  /** True: the machines stay. */
  readonly keep: boolean;
}

/** A machine of the quick start before it is made. */
export interface Site {
  readonly name: string;
  readonly ip: string;
  /** The addresses of the pods on this machine. */
  readonly podSubnet: string;
}

/** What a machine must know of its cluster to join it; the first machine makes the cluster and has no hash yet. */
export interface Joining {
  readonly token: string;
  readonly caCertHash?: string;
}

/** Why the lab cannot be used here; undefined when it can. */
export function labObstacle(): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'the lab needs Linux on x86-64';
  if (process.getuid?.() !== 0) return 'the lab needs root';
  for (const program of ['/usr/bin/apt-get', '/usr/bin/dpkg']) {
    try {
      accessSync(program, constants.X_OK);
    } catch {
      return 'the lab needs Debian with apt';
    }
  }
  return undefined;
}

/** The machines of a quick start: the control plane first. */
export function sitesOf(workers: number, addresses: readonly string[]): Site[] {
  return addresses.slice(0, workers + 1).map((ip, index) => ({
    name: index === 0 ? 'quickstart' : `qs-worker${index}`,
    ip,
    podSubnet: `10.244.${index}.0/24`,
  }));
}

/** What of the artefacts a document depends on. */
export type Built = Pick<ClusterArtefacts, 'release' | 'official'>;

/** The third source of a machine's document: what is of this machine, this cluster and this release alone. */
export function machineSource(
  site: Site,
  all: readonly Site[],
  { release, official }: Built,
  { token, caCertHash }: Joining,
): object {
  const { version, minor, repository, images } = release;
  const image = (name: string): string => `${repository}/${images[name]}`;
  const endpoint = `${all[0]?.ip}:6443`;
  const others = all.filter(({ name }) => name !== site.name);
  const routes = others.map(({ ip, podSubnet }) => `[Route]\nDestination=${podSubnet}\nGateway=${ip}\n`);
  const network = `[Match]\nName=host0\n[Network]\nAddress=${site.ip}/24\nGateway=${GATEWAY}\n${routes.join('')}`;
  const node = {
    // The only machine of a cluster runs the pods as well.
    ...(others.length === 0 ? { taints: [] } : {}),
    // The lab has cgroup v1.
    ...(has('cgroupV1', minor) ? {} : { kubelet: { config: { failCgroupV1: false } } }),
  };
  const fromSecret = { secret: 'token' };
  const role =
    caCertHash === undefined
      ? {
          cluster: {
            imageRepository: repository,
            controlPlaneEndpoint: endpoint,
            bootstrapTokens: [{ token: fromSecret, ttl: '1h' }],
          },
          addons: { dns: { enabled: official } },
        }
      : { join: { discovery: { token: { token: fromSecret, endpoint, caCertHashes: [caCertHash] } } } };
  return {
    metadata: { name: site.name },
    variables: { podSubnet: { value: site.podSubnet } },
    secrets: { token: { value: token } },
    host: {
      hostname: site.name,
      network: { tool: 'networkd', files: [{ name: '10-host0.network', content: network }] },
    },
    containerRuntime: { containerd: { sandboxImage: image('pause') } },
    images: { required: [image('pause'), image('kube-proxy'), 'k8s.gcr.io/quickstart/busybox:1'] },
    kubernetes: { version, node, ...role },
  };
}

/**
 * A real cluster: boots lab machines, puts the binary into them, runs `machineadm provision` and shows what it and the
 * cluster say, until the nodes are Ready and a pod has answered. The machines are removed afterwards unless `keep`.
 * Returns the exit status.
 */
export async function labQuickstart(binary: string, { workers, keep, kubernetes }: LabOptions): Promise<number> {
  const began = performance.now();
  const say = (line: string): void => {
    console.log(`[${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s] ${line}`);
  };
  const sites = sitesOf(workers, freeAddresses(workers + 1));
  const there = listMachines().filter((machine) => sites.some(({ name }) => name === machine.name));
  if (there.length > 0) {
    const names = there.map(({ name }) => name).join(' ');
    console.log(`Machines of an earlier quick start are still there; remove them: npm run lab -- down ${names}`);
    return 1;
  }
  say('A real cluster in lab machines. The first run builds what they need: up to ten minutes.');
  const artefacts = await buildCluster(kubernetes, say);
  const { release, lower } = artefacts;
  say(`Kubernetes ${release.version}${artefacts.official ? '' : " from Debian's sources"}`);
  const machines: Machine[] = [];
  const interrupted = (): void => {
    say('interrupted; removing the machines');
    void destroyMachines(machines).finally(() => process.exit(130));
  };
  process.once('SIGINT', interrupted);
  try {
    const token = `${randomText(6)}.${randomText(16)}`;
    let joining: Joining = { token };
    for (const site of sites) {
      const machine = await startMachine({
        name: site.name,
        ip: site.ip,
        artefacts,
        lower,
        temporary: !keep,
        progress: say,
      });
      machines.push(machine);
      say(`the machine ${site.name} is up at ${site.ip}; putting the binary and the document into it`);
      await machine.copyIn(binary, '/usr/local/bin/machineadm');
      for (const file of [
        '10-node.yaml',
        joining.caCertHash === undefined ? '20-control-plane.yaml' : '20-worker.yaml',
      ]) {
        await machine.copyIn(join(SOURCES, file), `${DOCUMENT}/${file}`);
      }
      await machine.write(
        `${DOCUMENT}/30-machine.yaml`,
        stringify(machineSource(site, sites, artefacts, joining)),
        '600',
      );
      const status = await show(machine, ['machineadm', 'provision', '-d', DOCUMENT]);
      await show(machine, ['machineadm', 'status']);
      await show(machine, ['machineadm', 'timeline']);
      if (status !== 0) {
        say(`machineadm provision ended with exit code ${status}`);
        return status;
      }
      if (joining.caCertHash === undefined) joining = { token, caCertHash: await caCertHash(machine) };
    }
    const [controlPlane] = machines;
    const answered = controlPlane !== undefined && (await askPod(controlPlane));
    say(answered ? 'done: the nodes are Ready, and a pod answered' : 'the nodes are there, but the pod did not answer');
    return answered ? 0 : 1;
  } finally {
    process.off('SIGINT', interrupted);
    if (keep) {
      const names = machines.map(({ name }) => name).join(' ');
      say(
        `the machines stay: npm run lab -- exec ${sites[0]?.name} bash; remove them with npm run lab -- down ${names}`,
      );
    } else {
      await destroyMachines(machines);
      say('the machines are gone; keep them next time with npm run quickstart -- --keep');
    }
  }
}

/** Not our word for it: what the API server says, and a pod that the cluster runs. */
async function askPod(controlPlane: Machine): Promise<boolean> {
  await controlPlane.copyIn(join(SOURCES, 'pod.yaml'), '/root/pod.yaml');
  const steps = [
    ['kubectl', 'get', 'nodes', '-o', 'wide'],
    ['kubectl', 'wait', '--for=condition=Ready', 'nodes', '--all', '--timeout=5m'],
    ['kubectl', '-n', 'kube-system', 'rollout', 'status', 'daemonset/kube-proxy', '--timeout=5m'],
    // The controllers give the namespace its service account some seconds after the API server is there.
    waitFor('kubectl get serviceaccount default'),
    ['kubectl', 'apply', '-f', '/root/pod.yaml'],
    ['kubectl', 'wait', '--for=condition=Ready', 'pod/web', '--timeout=5m'],
    ['kubectl', 'get', 'pod,service', 'web', '-o', 'wide'],
    // Through the address of the service, which kube-proxy leads to the pod.
    waitFor(`curl -sf --max-time 5 "http://$(kubectl get service web -o 'jsonpath={.spec.clusterIP}')/"`),
  ];
  for (const step of steps) if ((await show(controlPlane, step)) !== 0) return false;
  return true;
}

/** A command that is asked again each second until it succeeds, for two minutes. */
function waitFor(command: string): string[] {
  return ['timeout', '120', 'sh', '-c', `until ${command}; do sleep 1; done`];
}

/** `sha256:` and the digest of the public key of the cluster's CA, as kubeadm prints it. */
export async function caCertHash(controlPlane: Machine): Promise<string> {
  const pem = await controlPlane.shell('cat /etc/kubernetes/pki/ca.crt');
  const publicKey = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(publicKey).digest('hex')}`;
}

function randomText(length: number): string {
  const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';
  return Array.from({ length }, () => letters[randomInt(letters.length)]).join('');
}

/** Runs a command in the machine before the user's eyes. Returns its exit status. */
async function show(machine: Machine, command: readonly string[]): Promise<number> {
  console.log(`\n${machine.name}$ ${command.join(' ')}`);
  const { status } = await machine.exec(command, {
    timeoutMs: 15 * 60_000,
    env: { KUBECONFIG: '/etc/kubernetes/admin.conf' },
    onOutput: (stream, text) => void process[stream].write(text),
  });
  return status;
}
