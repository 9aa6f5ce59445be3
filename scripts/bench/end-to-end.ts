/**
 * From the start of a machine to its registered node: `npm run bench -- --end-to-end [--runs N] [--generate]`. Lab machines boot
 * in turn with the same payload, one by cloud-init and the shell as the kubeadm bootstrap provider renders it, the others by
 * machineadm, which cloud-init, a unit or Ignition starts. Times are the kernel's; nothing in the machines is asked while they work.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import {
  type DocumentTree,
  initDocument,
  type NodeSite,
  newSeeds,
  type Seeds,
  toYaml,
  workerDocument,
} from '../../test/support/documents.ts';
import { buildLab, buildLayer, LAB_DIRECTORY } from '../lab/artefacts.ts';
import { machineCgroups, machineProcesses } from '../lab/cgroups.ts';
import { destroyMachines, startMachine } from '../lab/fleet.ts';
import { acquire } from '../lab/lock.ts';
import type { Machine } from '../lab/machine.ts';

const root = resolve(import.meta.dirname, '../..');
const PACKAGING = join(root, 'packaging');
const SEED = '/var/lib/cloud/seed/nocloud';
const SENTINEL = '/run/cluster-api/bootstrap-success.complete';
const DOCUMENT = '/etc/machineadm/bootstrap.yaml';
/** Where the shell of the provider's way says when kubeadm begins. */
const MARKS = '/var/lib/bench-marks';
const MOST_MS = 15 * 60_000;
const BOOT_MS = 10 * 60_000;
const SAMPLE_MS = 200;

/** How a machine becomes a node. */
export const WAYS = [
  'the provider',
  'machineadm by cloud-init',
  'machineadm by a unit',
  'machineadm by Ignition',
] as const;
export type Way = (typeof WAYS)[number];

/** Seconds since the machine's first process, and of a processor. */
export interface EndToEnd {
  readonly way: Way;
  /** When that which prepares the machine was started. */
  readonly started: number;
  /** When kubeadm was. */
  readonly kubeadm: number;
  /** When the kubelet had registered the node. */
  readonly registered: number;
  /** When the sentinel was there. */
  readonly done: number;
  /** Of machineadm itself, without the programs that it starts. */
  readonly ownCpu: number;
  /** Of all of the machine. */
  readonly cpu: number;
  /** The steps of machineadm that took more than a tenth of a second. */
  readonly steps: readonly { readonly name: string; readonly seconds: number }[];
}

/** The payload of one machine, in each form. */
interface Payload {
  readonly site: NodeSite;
  readonly document: DocumentTree;
  readonly seeds: Seeds;
  readonly images: readonly string[];
}

/** cloud-config with write_files and runcmd, as the provider makes it of a KubeadmConfig with commands before and after kubeadm. */
function providerUserData({ site, document, seeds, images }: Payload, binary: string, scratch: string): string {
  const path = join(scratch, `${site.name}.yaml`);
  writeFileSync(path, toYaml(document), { mode: 0o600 });
  const { status, stdout, stderr } = spawnSync(binary, ['render', 'kubeadm', '-f', path], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`render kubeadm ended with ${status}: ${stderr}`);
  const [command = '', ...lines] = stdout.split('\n');
  const config = lines
    .join('\n')
    .replace(/token: "\[redacted\]"/, `token: "${seeds.token}"`)
    .replace(/certificateKey: "\[redacted\]"/, `certificateKey: "${seeds.certificateKey}"`);
  const kubeadm = command.replace(/^# /, '').replace('FILE', '/run/kubeadm/kubeadm.yaml');
  const file = (name: string, permissions: string, content: string) => ({
    path: name,
    owner: 'root:root',
    permissions,
    content,
  });
  const isInit = kubeadm.startsWith('kubeadm init');
  return `#cloud-config\n${stringify({
    write_files: [
      ...(isInit
        ? [
            file('/etc/kubernetes/pki/ca.crt', '0640', seeds.caCertificate),
            file('/etc/kubernetes/pki/ca.key', '0600', seeds.caKey),
          ]
        : []),
      file('/etc/e2e/plain.conf', '0640', 'colour = blue\n'),
      file('/etc/e2e/secret.conf', '0600', seeds.password),
      file('/etc/modules-load.d/kubernetes.conf', '0644', 'overlay\nbr_netfilter\n'),
      file(
        '/etc/sysctl.d/90-kubernetes.conf',
        '0644',
        'net.ipv4.ip_forward = 1\nnet.bridge.bridge-nf-call-iptables = 1\n',
      ),
      file(
        '/etc/containerd/config.toml',
        '0644',
        'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\nsandbox_image = "k8s.gcr.io/pause:3.2"\nrestrict_oom_score_adj = true\n',
      ),
      file('/run/kubeadm/kubeadm.yaml', '0640', config),
      file(
        '/run/cluster-api/placeholder',
        '0640',
        'This placeholder file is used to create the /run/cluster-api sub directory.\n',
      ),
    ],
    runcmd: [
      'echo early >> /var/lib/e2e-hooks',
      `hostnamectl set-hostname ${site.name} || hostname ${site.name}`,
      'modprobe -a overlay br_netfilter || true',
      'sysctl -q -p /etc/sysctl.d/90-kubernetes.conf',
      'swapoff -a',
      'systemctl restart containerd',
      ...images.map((name) => `ctr -n k8s.io images import /opt/images/${name}.tar`),
      `cut -d' ' -f1 /proc/uptime >> ${MARKS}`,
      `${kubeadm} && echo success > ${SENTINEL}`,
      `cut -d' ' -f1 /proc/uptime >> ${MARKS}`,
      'echo afterBootstrap >> /var/lib/e2e-hooks',
    ],
  })}`;
}

/** A layer over the machine image with the binary, and what the way needs besides. */
function layerOf(directory: string, binary: string, files: Readonly<Record<string, string>>): string {
  const agent = join(directory, 'usr/local/bin/machineadm');
  mkdirSync(dirname(agent), { recursive: true });
  copyFileSync(binary, agent);
  for (const [path, content] of Object.entries(files)) {
    const place = join(directory, path);
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, content, { mode: path === DOCUMENT ? 0o600 : 0o644 });
  }
  return directory;
}

/** The machine of one way, up: what its user data or its units do is over, or goes on. */
async function bootBy(way: Way, payload: Payload, binary: string, scratch: string): Promise<Machine> {
  const progress = (line: string): void => console.error(line);
  const { site, document } = payload;
  const unitName = 'machineadm-provision.service';
  const unit = readFileSync(join(PACKAGING, 'systemd', unitName), 'utf8');
  const common = { ...site, temporary: true, progress, bootTimeoutMs: BOOT_MS };
  const cloudInit = async (data: string, lower: readonly string[]) =>
    await startMachine({
      ...common,
      lower: [...lower, await buildLayer('cloud-init', progress)],
      files: { [`${SEED}/user-data`]: data, [`${SEED}/meta-data`]: `instance-id: iid-${site.name}\n` },
    });
  const directory = join(scratch, 'layer');
  if (way === 'the provider') return await cloudInit(providerUserData(payload, binary, scratch), []);
  if (way === 'machineadm by cloud-init') {
    const data: { write_files: [object] } = parse(readFileSync(join(PACKAGING, 'cloud-init/user-data.yaml'), 'utf8'));
    const [file] = data.write_files;
    const userData = `#cloud-config\n${stringify({ ...data, write_files: [{ ...file, content: toYaml(document) }] })}`;
    return await cloudInit(userData, [layerOf(directory, binary, {})]);
  }
  if (way === 'machineadm by a unit') {
    const layer = layerOf(directory, binary, {
      [`/etc/systemd/system/${unitName}`]: unit,
      [DOCUMENT]: toYaml(document),
    });
    const wants = join(layer, 'etc/systemd/system/multi-user.target.wants');
    mkdirSync(wants);
    symlinkSync(`../${unitName}`, join(wants, unitName));
    return await startMachine({ ...common, lower: [layer] });
  }
  const layer = layerOf(directory, binary, { '/etc/systemd/system-preset/99-lab.preset': 'disable *\n' });
  const config: { storage: { files: [object] } } = parse(readFileSync(join(PACKAGING, 'ignition/config.ign'), 'utf8'));
  const source = `data:;base64,${Buffer.from(toYaml(document)).toString('base64')}`;
  const [file] = config.storage.files;
  const own = { ...config, storage: { ...config.storage, files: [{ ...file, contents: { source } }] } };
  writeFileSync(join(scratch, 'config.ign'), JSON.stringify(own), { mode: 0o600 });
  const script = join(root, 'test/support/ignition.sh');
  const { root: image } = await buildLab(progress);
  const args = [script, image, await buildLayer('ignition', progress), layer, join(scratch, 'config.ign')];
  const run = spawnSync('bash', args, { encoding: 'utf8' });
  if (run.status !== 0) throw new Error(`Ignition ended with ${run.status}: ${run.stdout}${run.stderr}`);
  return await startMachine({ ...common, lower: [layer], machineId: 'uninitialized' });
}

/** Reads, from outside, what machineadm in a machine takes of the processors until it ends. */
function sampleOwn(name: string): { readonly stop: () => number } {
  const seconds = new Map<number, number>();
  const timer = setInterval(() => {
    for (const pid of machineProcesses(name)) {
      try {
        const [program = '', verb] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        if (!program.endsWith('machineadm') || verb !== 'provision') continue;
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        const [user = '0', system = '0'] = stat
          .slice(stat.lastIndexOf(')') + 2)
          .split(' ')
          .slice(11, 13);
        seconds.set(pid, (Number(user) + Number(system)) / 100);
      } catch {
        // It ended between the listing and the reading.
      }
    }
  }, SAMPLE_MS);
  return {
    stop() {
      clearInterval(timer);
      return [...seconds.values()].reduce((sum, each) => sum + each, 0);
    },
  };
}

/** Seconds since the boot of the host at which a process was started (proc_pid_stat(5), starttime). */
function startOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]) / 100;
}

/** Boots a machine one way, and leaves it. */
async function boot(
  way: Way,
  payload: Payload,
  binary: string,
  scratch: string,
): Promise<EndToEnd & { machine: Machine }> {
  mkdirSync(scratch, { recursive: true });
  const own = sampleOwn(payload.site.name);
  let machine: Machine | undefined;
  try {
    machine = await bootBy(way, payload, binary, scratch);
    const began = startOf(machine.leader() ?? 0);
    const told = async (script: string): Promise<string> => (await machine?.shell(script))?.trim() ?? '';
    for (const until = performance.now() + MOST_MS; ; await sleep(2000)) {
      if ((await told(`test -e ${SENTINEL} && echo done || true`)) === 'done') break;
      if (performance.now() > until) throw new Error(`${way}: there is no node after ${MOST_MS / 60_000} minutes`);
    }
    const ownCpu = own.stop();
    const [group] = machineCgroups(machine.name).filter((directory) => /\/cpu[,a]/.test(directory));
    const cpu = Number(readFileSync(join(group ?? '', 'cpuacct.usage'), 'utf8')) / 1e9;
    const unit =
      way === 'machineadm by a unit' || way === 'machineadm by Ignition' ? 'machineadm-provision' : 'cloud-final';
    const startedAt = Number(await told(`systemctl show -p ExecMainStartTimestampMonotonic --value ${unit}`)) / 1e6;
    const registeredAt =
      Number(
        await told(
          `journalctl -u kubelet -o json --no-pager | grep -m1 'Successfully registered node' | sed 's/.*"__MONOTONIC_TIMESTAMP" *: *"\\([0-9]*\\)".*/\\1/'`,
        ),
      ) / 1e6;
    let [kubeadmAt, doneAt] = [0, 0];
    let steps: EndToEnd['steps'] = [];
    if (way === 'the provider') [kubeadmAt = 0, doneAt = 0] = (await told(`cat ${MARKS}`)).split('\n').map(Number);
    else {
      const { timeline }: { timeline: readonly { name: string; sinceBootMs: number; durationMs: number }[] } =
        JSON.parse(await told('cat /run/machineadm/status.json'));
      kubeadmAt = (timeline.find(({ name }) => name === 'kubeadm')?.sinceBootMs ?? 0) / 1000;
      steps = timeline
        .filter(({ sinceBootMs, durationMs }) => durationMs > 100 && sinceBootMs / 1000 > startedAt)
        .map(({ name, durationMs }) => ({ name, seconds: durationMs / 1000 }));
      const sentinel = timeline.find(({ name }) => name === 'sentinel');
      doneAt = ((sentinel?.sinceBootMs ?? 0) + (sentinel?.durationMs ?? 0)) / 1000;
    }
    const [started, kubeadm, registered, done] = [startedAt, kubeadmAt, registeredAt, doneAt].map((at) => at - began);
    if ([started, kubeadm, registered, done].some((at) => at === undefined || !(at > 0)))
      throw new Error(
        `${way}: times are missing: ${[startedAt, kubeadmAt, registeredAt, doneAt].join(' ')} since ${began}`,
      );
    return {
      way,
      started: started ?? 0,
      kubeadm: kubeadm ?? 0,
      registered: registered ?? 0,
      done: done ?? 0,
      ownCpu,
      cpu,
      steps,
      machine,
    };
  } catch (error) {
    own.stop();
    if (machine !== undefined) await destroyMachines([machine]);
    throw error;
  }
}

const ALL_IMAGES = [
  'pause',
  'kube-proxy',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'etcd',
  'coredns',
];

/** Boots first control planes, then workers that join the last of them, each way in turn. One more machine at a time, but that one. */
export async function measureEndToEnd(
  binary: string,
  directory: string,
  runs: number,
  onResult: (role: 'init' | 'join', result: EndToEnd) => void,
): Promise<Readonly<Record<'init' | 'join', readonly EndToEnd[]>>> {
  const release = await acquire(join(LAB_DIRECTORY, 'e2e.lock'), () =>
    console.error('another session uses the lab; waiting'),
  );
  const figures: Record<'init' | 'join', EndToEnd[]> = { init: [], join: [] };
  const seeds = newSeeds();
  const [first, second] = [
    { name: 'bench-cp', ip: '10.99.0.211' },
    { name: 'bench-worker', ip: '10.99.0.212' },
  ];
  let controlPlane: Machine | undefined;
  try {
    for (let run = 0; run < runs; run += 1) {
      for (const way of WAYS) {
        if (controlPlane !== undefined) await destroyMachines([controlPlane]);
        controlPlane = undefined;
        const payload = { site: first, document: initDocument(first, seeds), seeds, images: ALL_IMAGES };
        const { machine, ...result } = await boot(
          way,
          payload,
          binary,
          join(directory, `init-${run}-${WAYS.indexOf(way)}`),
        );
        controlPlane = machine;
        figures.init.push(result);
        onResult('init', result);
      }
    }
    for (let run = 0; run < runs; run += 1) {
      for (const way of WAYS) {
        const payload = { site: second, document: workerDocument(second, seeds, first.ip), seeds, images: ['pause'] };
        const { machine, ...result } = await boot(
          way,
          payload,
          binary,
          join(directory, `join-${run}-${WAYS.indexOf(way)}`),
        );
        figures.join.push(result);
        onResult('join', result);
        await destroyMachines([machine]);
        await controlPlane?.shell(`kubectl --kubeconfig /etc/kubernetes/admin.conf delete node ${second.name}`);
      }
    }
  } finally {
    if (controlPlane !== undefined) await destroyMachines([controlPlane]);
    await release();
  }
  return figures;
}
