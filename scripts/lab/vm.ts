import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { buildCluster, LAB_DIRECTORY, type Progress } from './artefacts.ts';
import { mustRun, until } from './process.ts';

/** What a node needs of its kernel. All of it is built in, because the machine has no modules. */
const KERNEL_OPTIONS = `
  SMP CPUSETS MEMCG CGROUP_PIDS CFS_BANDWIDTH CGROUP_BPF PID_NS NET_NS USER_NS IKCONFIG_PROC SECCOMP_FILTER POSIX_MQUEUE
  HOSTFS DEVTMPFS_MOUNT EXT4_FS OVERLAY_FS DUMMY VETH BRIDGE BRIDGE_NETFILTER NFT_COMPAT NETFILTER_XT_MATCH_COMMENT
  NETFILTER_XT_MATCH_ADDRTYPE NETFILTER_XT_TARGET_MASQUERADE`
  .trim()
  .split(/\s+/);

const HERE = import.meta.dirname;
const BOOT_TIMEOUT_MS = 45 * 60_000;

/** The inputs of the machine with cgroup v2. */
export interface VmOptions {
  readonly binary: string;
  /** The program of a kernel: User-mode Linux. */
  readonly kernel: string | undefined;
  /** `v1.37.x`. */
  readonly kubernetes: string;
}

/**
 * Boots a machine with cgroup v2, whose kernel is an ordinary process (User-mode Linux). The unit of the agent makes it a
 * control plane. Then the machine runs `vm-checks.sh`. Prints its output and returns its exit status.
 */
export async function bootVm({ binary, kernel, kubernetes }: VmOptions, progress: Progress): Promise<number> {
  if (kernel === undefined) throw new Error('MACHINEADM_LAB_KERNEL is not set: see "cgroup v2" in docs/lab.md');
  await checkKernel(kernel);
  const { root, lower, images, release } = await buildCluster(kubernetes, progress);
  const directory = join(LAB_DIRECTORY, 'vm');
  rmSync(directory, { recursive: true, force: true });
  const [tree, share, disk] = [join(directory, 'tree'), join(directory, 'share'), join(directory, 'disk.img')];
  mkdirSync(share, { recursive: true });
  await mustRun('cp', ['-a', root, tree]);
  for (const layer of lower.toReversed()) await mustRun('cp', ['-a', `${layer}/.`, tree]);
  cpSync(images, join(tree, 'opt/images'), { recursive: true });
  const document = readFileSync(join(HERE, 'vm.yaml'), 'utf8')
    .replaceAll('VERSION', release.version)
    .replaceAll('SANDBOX', `${release.repository}/${release.images.pause}`);
  writeGuest(tree, binary, document);
  await mustRun('truncate', ['-s', '8G', disk]);
  await mustRun('mkfs.ext4', ['-q', '-F', '-d', tree, disk]);
  rmSync(tree, { recursive: true });

  const began = performance.now();
  const machine = boot(kernel, { directory, share, disk });
  try {
    progress(`the machine boots; its console is ${directory}/console.log`);
    const status = join(share, 'status');
    await until('the machine has run its checks', BOOT_TIMEOUT_MS, async () => {
      if (!isRunning(machine)) throw new Error(`the machine ended: see ${directory}/console.log`);
      return existsSync(status) && readFileSync(status, 'utf8') !== '';
    });
    process.stdout.write(readFileSync(join(share, 'output'), 'utf8'));
    progress(`the checks ended ${((performance.now() - began) / 1000).toFixed(0)} s after the start of the machine`);
    return Number(readFileSync(status, 'utf8'));
  } finally {
    machine.kill('SIGKILL');
  }
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

function boot(
  kernel: string,
  { directory, share, disk }: Readonly<Record<'directory' | 'share' | 'disk', string>>,
): ChildProcess {
  const output = openSync(join(directory, 'console.log'), 'w', 0o600);
  const args = [
    'mem=3G',
    'ncpus=2',
    'seccomp=on',
    'sysctl.kernel.io_uring_disabled=2',
    'root=/dev/ubda',
    'rw',
    `ubda=${disk}`,
    `hostfs=${share}`,
  ];
  const console = ['con=null', 'con0=null,fd:1', 'console=tty0', `uml_dir=${directory}`, 'umid=vm'];
  // The machine ends with this process, and its processes end with it.
  const machine = spawn('setpriv', ['--pdeathsig', 'KILL', kernel, ...args, ...console], {
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  return machine;
}

/** Refuses a kernel that lacks something that a node needs. */
async function checkKernel(kernel: string): Promise<void> {
  const { stdout } = await mustRun(kernel, ['--showconfig']);
  const lines = new Set(stdout.split('\n'));
  const missing = KERNEL_OPTIONS.filter((name) => !lines.has(`CONFIG_${name}=y`));
  if (missing.length > 0)
    throw new Error(`${kernel} was built without ${missing.map((name) => `CONFIG_${name}=y`).join(', ')}`);
}

/** What makes a machine of the image: its disk, its network, the agent with its document and its unit, and the checks. */
function writeGuest(tree: string, binary: string, document: string): void {
  const units = join(tree, 'etc/systemd/system');
  for (const own of ['lab-writable.service', 'sysinit.target.wants/lab-writable.service', 'getty.target.wants']) {
    rmSync(join(units, own), { recursive: true, force: true });
  }
  const files = {
    'etc/fstab': '/dev/ubda / ext4 defaults 0 1\nnone /host hostfs defaults 0 0\n',
    'etc/hosts': '127.0.0.1 localhost\n',
    'etc/systemd/network/10-host0.netdev': '[NetDev]\nName=host0\nKind=dummy\n',
    'etc/systemd/network/10-host0.network': '[Match]\nName=host0\n[Network]\nAddress=10.99.0.2/24\nGateway=10.99.0.1\n',
    'etc/systemd/system/lab-checks.service': CHECKS_UNIT,
    'etc/systemd/system/lab-cpuinfo.service': CPUINFO_UNIT,
    'etc/machineadm/bootstrap.yaml': document,
  };
  for (const path of ['host', 'etc/machineadm', 'etc/systemd/network'])
    mkdirSync(join(tree, path), { recursive: true });
  for (const [path, content] of Object.entries(files)) writeFileSync(join(tree, path), content);
  cpSync(binary, join(tree, 'usr/local/bin/machineadm'));
  cpSync(join(HERE, 'vm-checks.sh'), join(tree, 'usr/local/sbin/lab-checks'));
  const provision = 'machineadm-provision.service';
  cpSync(join(HERE, '../../packaging/systemd', provision), join(units, provision));
  symlinkSync('../lab-cpuinfo.service', join(units, 'sysinit.target.wants/lab-cpuinfo.service'));
  for (const unit of [provision, 'lab-checks.service'])
    symlinkSync(`../${unit}`, join(units, 'multi-user.target.wants', unit));
}

// The kubelet's cAdvisor requires a speed of the processors, which User-mode Linux does not tell.
const CPUINFO_UNIT = `[Unit]
Description=Lab: a speed of the processors
DefaultDependencies=no
Before=sysinit.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'sed "s/^mode/cpu MHz : 2000.000\\\\nmode/" /proc/cpuinfo > /run/cpuinfo && mount --bind /run/cpuinfo /proc/cpuinfo'

[Install]
WantedBy=sysinit.target
`;

const CHECKS_UNIT = `[Unit]
Description=Lab: checks of the machine with cgroup v2
After=machineadm-provision.service
RequiresMountsFor=/host

[Service]
Type=oneshot
ExecStart=/bin/sh -c 'sh /usr/local/sbin/lab-checks > /host/output; echo $$? > /host/status'

[Install]
WantedBy=multi-user.target
`;
