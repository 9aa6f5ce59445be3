import { createHash, X509Certificate } from 'node:crypto';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { buildCluster, buildLayer, type ClusterArtefacts } from '../lab/artefacts.ts';
import { destroyMachines, freeAddresses, listMachines, type MachineOptions, startMachine } from '../lab/fleet.ts';
import type { Machine } from '../lab/machine.ts';
import {
  DOCUMENT,
  type Joining,
  machineSource,
  newSecrets,
  type Site,
  SOURCES,
  sharedSources,
  sitesOf,
} from './documents.ts';

/** The options of the user. */
export interface LabOptions {
  /** 1, or an odd number of machines behind a load balancer. */
  readonly controlPlanes: number;
  /** Machines that join the control plane. */
  readonly workers: number;
  /** `v1.37.x` or `debian`; undefined: see `buildCluster`. */
  readonly kubernetes?: string | undefined;
  /** True: the machines stay. */
  readonly keep: boolean;
}

/** The reason why the lab cannot run here; undefined if it can. */
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

/** Boots a machine, and copies the binary and the sources of its document to it. */
export async function startClusterMachine(
  site: Site,
  all: readonly Site[],
  artefacts: ClusterArtefacts,
  joining: Joining,
  { binary, ...options }: { readonly binary: string } & Pick<MachineOptions, 'temporary' | 'progress'>,
): Promise<Machine> {
  const { name, ip } = site;
  const machine = await startMachine({ ...options, name, ip, artefacts, lower: artefacts.lower });
  await machine.copyIn(binary, '/usr/local/bin/machineadm');
  for (const file of sharedSources(site, joining.caCertHash === undefined)) {
    await machine.copyIn(join(SOURCES, file), `${DOCUMENT}/${file}`);
  }
  const own = stringify(machineSource(site, all, artefacts, joining));
  await machine.write(`${DOCUMENT}/30-machine.yaml`, own, '600');
  return machine;
}

/**
 * Creates a real cluster: boots lab machines, copies the binary to them, runs `machineadm provision`, and shows its output
 * and that of kubectl until the nodes are Ready and a pod has responded. Removes the machines afterwards unless `keep` is
 * set. Returns the exit status.
 */
export async function labQuickstart(binary: string, options: LabOptions): Promise<number> {
  const { controlPlanes, workers, keep, kubernetes } = options;
  const began = performance.now();
  const say = (line: string): void => {
    console.log(`[${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s] ${line}`);
  };
  const addresses = freeAddresses(controlPlanes + workers + 1);
  const sites = sitesOf(options, (index) => addresses[index] ?? '');
  const there = listMachines().filter((machine) => sites.some(({ name }) => name === machine.name));
  if (there.length > 0) {
    const names = there.map(({ name }) => name).join(' ');
    console.log(`Machines of an earlier quick start are still there; remove them: npm run lab -- down ${names}`);
    return 1;
  }
  say('A real cluster in lab machines. The first run builds what they need: up to ten minutes.');
  const artefacts = await buildCluster(kubernetes, say);
  const { release } = artefacts;
  say(`Kubernetes ${release.version}${artefacts.official ? '' : " from Debian's sources"}`);
  const balancer = controlPlanes > 1 ? [await buildLayer('haproxy', say, artefacts.root)] : [];
  const machines: Machine[] = [];
  const interrupted = (): void => {
    say('interrupted; removing the machines');
    void destroyMachines(machines).finally(() => process.exit(130));
  };
  process.once('SIGINT', interrupted);
  try {
    let joining = newSecrets(controlPlanes);
    for (const site of sites) {
      const layers = { ...artefacts, lower: site.role === 'balancer' ? balancer : artefacts.lower };
      const machine = await startClusterMachine(site, sites, layers, joining, {
        binary,
        temporary: !keep,
        progress: say,
      });
      machines.push(machine);
      say(`the machine ${site.name} is up at ${site.ip}, with the binary and its document`);
      const status = await show(machine, ['machineadm', 'provision', '-d', DOCUMENT]);
      await show(machine, ['machineadm', 'status']);
      await show(machine, ['machineadm', 'timeline']);
      if (status !== 0) {
        say(`machineadm provision ended with exit code ${status}`);
        return status;
      }
      if (site.role === 'control-plane' && joining.caCertHash === undefined) {
        joining = { ...joining, caCertHash: await caCertHash(machine) };
      }
    }
    const [controlPlane, second] = machines.filter((_, index) => sites[index]?.role === 'control-plane');
    if (controlPlane === undefined || !(await nodesAreReady(controlPlane))) return 1;
    const works = second === undefined ? await podAnswers(controlPlane) : await surviveLoss(controlPlane, second, say);
    const done = second === undefined ? '' : ', after the loss of a control plane that is back now';
    say(
      works
        ? `done: the nodes are Ready, and a pod answered${done}`
        : 'the nodes are there, but the cluster does not work',
    );
    return works ? 0 : 1;
  } finally {
    process.off('SIGINT', interrupted);
    if (keep) {
      const names = machines.map(({ name }) => name).join(' ');
      say(
        `the machines stay: npm run lab -- exec ${sites[0]?.name} bash; remove them with npm run lab -- down ${names}`,
      );
    } else {
      await destroyMachines(machines);
      say('the machines are removed; to keep them, use npm run quickstart -- --keep');
    }
  }
}

/**
 * Cuts the power of the first control plane, checks that the others serve the endpoint and run a pod, and boots it again.
 */
async function surviveLoss(first: Machine, second: Machine, say: (line: string) => void): Promise<boolean> {
  const nodes = ['kubectl', '--request-timeout=5s', 'get', 'nodes'];
  await show(second, ['kubectl', '-n', 'kube-system', 'get', 'pods', '-l', 'component=etcd', '-o', 'wide']);
  await first.cutPower();
  const died = performance.now();
  say(`the machine ${first.name} is without power; the cluster is asked through ${second.name} at the endpoint`);
  // A write goes through etcd: two of three members are a quorum.
  const write = 'kubectl --request-timeout=5s create configmap written-after-the-loss --from-literal=by=a-quorum';
  if ((await show(second, waitFor(write))) !== 0) return false;
  say(`the API accepted a write ${((performance.now() - died) / 1000).toFixed(1)} s after the loss`);
  if ((await show(second, waitFor(`kubectl get node ${first.name} | grep -w NotReady`))) !== 0) return false;
  if (!(await podAnswers(second))) return false;
  await first.boot();
  say(`the machine ${first.name} has power again`);
  const back = ['kubectl', 'wait', '--for=condition=Ready', 'nodes', '--all', '--timeout=5m'];
  const kept = waitFor('kubectl --request-timeout=5s get configmap written-after-the-loss');
  return (await showAll(second, [back, nodes])) && (await showAll(first, [kept]));
}

/** Whether the API server reports that all nodes are Ready. */
async function nodesAreReady(controlPlane: Machine): Promise<boolean> {
  return await showAll(controlPlane, [
    ['kubectl', 'get', 'nodes', '-o', 'wide'],
    ['kubectl', 'wait', '--for=condition=Ready', 'nodes', '--all', '--timeout=5m'],
    ['kubectl', '-n', 'kube-system', 'rollout', 'status', 'daemonset/kube-proxy', '--timeout=5m'],
  ]);
}

/** Whether a pod that the cluster runs answers. */
async function podAnswers(controlPlane: Machine): Promise<boolean> {
  await controlPlane.copyIn(join(SOURCES, 'pod.yaml'), '/root/pod.yaml');
  return await showAll(controlPlane, [
    // The controllers create the default service account some seconds after the start of the API server.
    waitFor('kubectl get serviceaccount default'),
    ['kubectl', 'apply', '-f', '/root/pod.yaml'],
    ['kubectl', 'wait', '--for=condition=Ready', 'pod/web', '--timeout=5m'],
    ['kubectl', 'get', 'pod,service', 'web', '-o', 'wide'],
    // Through the cluster IP of the service, which kube-proxy translates to the pod.
    waitFor(`curl -sf --max-time 5 "http://$(kubectl get service web -o 'jsonpath={.spec.clusterIP}')/"`),
  ]);
}

async function showAll(machine: Machine, steps: readonly (readonly string[])[]): Promise<boolean> {
  for (const step of steps) if ((await show(machine, step)) !== 0) return false;
  return true;
}

/** Repeats a command each second until it succeeds, for two minutes. */
function waitFor(command: string): string[] {
  return ['timeout', '120', 'sh', '-c', `until ${command}; do sleep 1; done`];
}

/** `sha256:` and the digest of the public key of the cluster's CA, as kubeadm prints it. */
export async function caCertHash(controlPlane: Machine): Promise<string> {
  const pem = await controlPlane.shell('cat /etc/kubernetes/pki/ca.crt');
  const publicKey = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(publicKey).digest('hex')}`;
}

/** Prints a command, runs it in the machine and prints its output. Returns its exit status. */
async function show(machine: Machine, command: readonly string[]): Promise<number> {
  console.log(`\n${machine.name}$ ${command.join(' ')}`);
  const { status } = await machine.exec(command, {
    timeoutMs: 15 * 60_000,
    env: { KUBECONFIG: '/etc/kubernetes/admin.conf' },
    onOutput: (stream, text) => void process[stream].write(text),
  });
  return status;
}
