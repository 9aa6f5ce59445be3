import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Artefacts, buildLab, buildOpenrcImage, LAB_DIRECTORY, type Progress } from './artefacts.ts';
import { GATEWAY, prepareHost, restoreHost } from './host-changes.ts';
import { withLock } from './lock.ts';
import { type Init, MACHINES, Machine, type MachineRecord } from './machine.ts';
import { identify, isRunning, mustRun } from './process.ts';

export interface MachineOptions {
  readonly name: string;
  /** In 10.99.0.0/24. */
  readonly ip: string;
  /** Files that exist at the first boot: path -> content. The mode is 0600 if the path ends with `.secret`, otherwise 0644. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** 32 hex digits; default: random. */
  readonly machineId?: string;
  /** More layers over the machine image, uppermost first. */
  readonly lower?: readonly string[];
  /** The image below all layers; default: that of `init`. */
  readonly root?: string;
  /** Default: Kubernetes 1.20.2 from Debian's sources, which is built if it is not in the cache. */
  readonly artefacts?: Artefacts;
  /** True for a machine that is removed after this process ends. */
  readonly temporary?: boolean;
  /** The init system; default systemd. */
  readonly init?: Init;
  readonly progress?: Progress;
  /** The timeout until the machine is up; default 15 minutes. */
  readonly bootTimeoutMs?: number;
}

/** Names that are valid in a host name and in an interface name (`vb-NAME`, 15 bytes). */
const NAME = /^[a-z][a-z0-9-]{0,10}[a-z0-9]$/;

/**
 * Creates a machine and boots it, in 1 to 2 seconds if the lab is built. An existing machine with that name is an error.
 * Leftovers of sessions that have ended are removed first.
 */
export async function startMachine(options: MachineOptions): Promise<Machine> {
  const { name, ip, init = 'systemd', progress = () => undefined } = options;
  const artefacts = options.artefacts ?? (await buildLab(progress));
  const root = options.root ?? (init === 'openrc' ? await buildOpenrcImage(progress) : artefacts.root);
  const machine = await underLock(async () => {
    await sweep();
    await prepareHost();
    const directory = newDirectory(name, ip);
    for (const part of ['upper', 'work', 'root', 'containerd', 'kubelet']) mkdirSync(join(directory, part));
    const upper = join(directory, 'upper');
    // New directories get mode 0755, like those of Debian. They are merged with those of the image.
    for (const [path, content] of Object.entries(options.files ?? {})) writeInto(upper, path, content);
    writeIdentity(upper, name, ip, options.machineId);
    return register({
      name,
      ip,
      lower: [...(options.lower ?? []), root],
      images: artefacts.images,
      init,
      ...ownerOf(options.temporary ?? false),
    });
  });
  await bootOrDestroy(machine, options.bootTimeoutMs);
  return machine;
}

/**
 * Creates a machine from a copy of another machine's disk (the root file system and the volumes of containerd and the
 * kubelet) with a new machine-id, name and address, as a cloud does from a snapshot. The source must be powered off, or the
 * copy would be inconsistent. The new machine is not booted.
 */
export async function cloneMachine(source: Machine, name: string, ip: string, temporary = false): Promise<Machine> {
  if (source.isUp()) throw new Error(`power ${source.name} off before its disk is copied`);
  return underLock(async () => {
    const directory = newDirectory(name, ip);
    for (const part of ['work', 'root']) mkdirSync(join(directory, part));
    // -a keeps the extended attributes of overlayfs and its whiteouts (character devices for deleted files).
    for (const part of ['upper', 'containerd', 'kubelet']) {
      await mustRun('cp', ['-a', '--reflink=auto', join(source.directory, part), directory]);
    }
    writeIdentity(join(directory, 'upper'), name, ip, undefined);
    const { lower, images, init } = source.record;
    return register({ name, ip, lower, images, ...(init === undefined ? {} : { init }), ...ownerOf(temporary) });
  });
}

/** All machines, sorted by name. */
export function listMachines(): Machine[] {
  if (!existsSync(MACHINES)) return [];
  return readdirSync(MACHINES)
    .filter((name) => existsSync(join(MACHINES, name, 'machine.json')))
    .sort()
    .map((name) => new Machine(readRecord(name)));
}

/** The machine with this name. Throws if there is none. */
export function machineNamed(name: string): Machine {
  const machine = listMachines().find((candidate) => candidate.name === name);
  if (machine === undefined) throw new Error(`there is no machine ${name}; npm run lab -- list`);
  return machine;
}

/** Removes machines with their disks. After the last one, reverts the changes of the lab to this host. */
export async function destroyMachines(machines: readonly Machine[]): Promise<void> {
  await underLock(async () => {
    for (const machine of machines) await machine.destroy();
    await sweep();
  });
}

/** The lowest free address, starting at 10.99.0.11. */
export function freeAddress(): string {
  const [address] = freeAddresses(1);
  if (address === undefined) throw new Error('no address is free in 10.99.0.0/24');
  return address;
}

/** The lowest free addresses, starting at 10.99.0.11; fewer than `count` if not enough are free. */
export function freeAddresses(count: number): string[] {
  const taken = new Set(listMachines().map((machine) => machine.ip));
  const all = Array.from({ length: 239 }, (_, index) => `10.99.0.${index + 11}`);
  return all.filter((address) => !taken.has(address)).slice(0, count);
}

/** Removes leftovers of sessions that have ended: temporary machines, incomplete directories, changes to the host. */
async function sweep(): Promise<void> {
  for (const name of existsSync(MACHINES) ? readdirSync(MACHINES) : []) {
    const directory = join(MACHINES, name);
    if (!existsSync(join(directory, 'machine.json'))) {
      rmSync(directory, { recursive: true, force: true });
      continue;
    }
    const record = readRecord(name);
    if (record.owner !== undefined && !isRunning(record.owner)) await new Machine(record).destroy();
  }
  if (listMachines().length === 0) await restoreHost();
}

function underLock<T>(work: () => Promise<T>): Promise<T> {
  return withLock(join(LAB_DIRECTORY, 'machines.lock'), () => undefined, work);
}

function newDirectory(name: string, ip: string): string {
  if (!NAME.test(name)) throw new Error(`${name}: a machine's name is 2 to 12 of a-z, 0-9 and -`);
  if (!/^10\.99\.0\.\d+$/.test(ip)) throw new Error(`${ip} is not in 10.99.0.0/24`);
  const directory = join(MACHINES, name);
  if (existsSync(directory)) throw new Error(`machine ${name} exists; npm run lab -- down ${name}`);
  const holder = listMachines().find((machine) => machine.ip === ip);
  if (holder !== undefined) throw new Error(`machine ${holder.name} has the address ${ip}`);
  mkdirSync(directory, { recursive: true });
  return directory;
}

function register(record: MachineRecord): Machine {
  const directory = join(MACHINES, record.name);
  writeFileSync(join(directory, 'console.log'), '', { mode: 0o600 });
  writeFileSync(join(directory, 'machine.json'), JSON.stringify(record, null, 2));
  return new Machine(record);
}

async function bootOrDestroy(machine: Machine, timeoutMs: number | undefined): Promise<void> {
  try {
    await machine.boot(timeoutMs);
  } catch (error) {
    await destroyMachines([machine]);
    throw error;
  }
}

/**
 * The network has no router advertisements and no metadata service. With this configuration, programs that look for one
 * fail immediately: a kubelet before 1.29 looks for AWS credentials (k/k pkg/credentialprovider/aws), which would otherwise
 * take 6 s at each start.
 */
function networkOf(ip: string): string {
  return [
    '[Match]\nName=host0',
    `[Network]\nAddress=${ip}/24\nGateway=${GATEWAY}\nIPv6AcceptRA=no`,
    '[Route]\nDestination=169.254.169.254/32\nType=unreachable\n',
  ].join('\n');
}

/** Writes the identity of the machine: the files that the first boot in a cloud would write. */
function writeIdentity(upper: string, name: string, ip: string, machineId: string | undefined): void {
  writeInto(upper, '/etc/hostname', `${name}\n`);
  writeInto(upper, '/etc/hosts', `127.0.0.1 localhost\n${ip} ${name}\n`);
  writeInto(upper, '/etc/machine-id', `${machineId ?? randomBytes(16).toString('hex')}\n`);
  // There is no name server: a query to this address is refused immediately instead of timing out.
  writeInto(upper, '/etc/resolv.conf', 'nameserver 127.0.0.1\n');
  writeInto(upper, '/etc/systemd/network/10-host0.network', networkOf(ip));
}

function writeInto(upper: string, path: string, content: string | Uint8Array): void {
  const file = join(upper, path);
  mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
  rmSync(file, { force: true });
  writeFileSync(file, content, { mode: 0o600 });
  chmodSync(file, path.endsWith('.secret') ? 0o600 : 0o644);
}

function ownerOf(temporary: boolean): { readonly owner?: NonNullable<MachineRecord['owner']> } {
  const owner = temporary ? identify(process.pid) : undefined;
  return owner === undefined ? {} : { owner };
}

function readRecord(name: string): MachineRecord {
  const record: MachineRecord = JSON.parse(readFileSync(join(MACHINES, name, 'machine.json'), 'utf8'));
  return record;
}
