import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LAB_DIRECTORY } from './artefacts.ts';
import { innerCgroups, removeMachineCgroups } from './cgroups.ts';
import { BRIDGE } from './host-changes.ts';
import {
  childrenOf,
  type Finished,
  identify,
  isRunning,
  killProcess,
  type ProcessIdentity,
  run,
  until,
} from './process.ts';
import { revertDisk, snapshotDisk } from './snapshot.ts';

/** The directory with the disk and the state of each machine. */
export const MACHINES = join(LAB_DIRECTORY, 'machines');

/** The init system of a machine. */
export type Init = 'systemd' | 'openrc';

/** Commands that check whether a machine is up, and that reboot it. */
const INITS: Readonly<Record<Init, { readonly isUp: string; readonly reboot: string }>> = {
  systemd: {
    isUp: 'systemctl is-system-running | grep -qxE "running|degraded"',
    reboot: 'systemctl reboot',
  },
  // OpenRC sets the runlevel before it starts the services, and exits after it has started them.
  openrc: {
    isUp: 'test "$(cat /run/openrc/softlevel)" = default && ! pgrep -x openrc',
    reboot: 'init 6',
  },
};

/** The record of a machine that persists between sessions: `machine.json` in its directory. */
export interface MachineRecord {
  readonly name: string;
  readonly ip: string;
  /** Directories below the machine's own layer, uppermost first. */
  readonly lower: readonly string[];
  readonly images: string;
  /** The process of boot.sh; undefined while the machine is powered off. */
  readonly supervisor?: ProcessIdentity;
  /** Default systemd. */
  readonly init?: Init;
  /** The session that owns it: the machine is removed after that session ends. Undefined: it stays until `down`. */
  readonly owner?: ProcessIdentity;
}

export interface ExecOptions {
  readonly input?: string | Uint8Array;
  /** Added to PATH, HOME and LANG. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default 10 minutes; then the command is killed and `timedOut` is set. */
  readonly timeoutMs?: number;
  readonly onOutput?: (stream: 'stdout' | 'stderr', text: string) => void;
}

/** No command of a test takes so long on a quiet machine. */
const SLOW_MS = 150_000;
const ACTIVITY = 'systemctl list-jobs --no-pager; ps -eo pid,ppid,stat,etimes,wchan:24,args --forest | cut -c1-180';

const POWER_OFF = 34 + 4; // SIGRTMIN+4 (man 1 systemd, SIGNALS)

/** One disposable machine: a systemd-nspawn container on an overlay of the machine image. */
export class Machine {
  readonly directory: string;
  #record: MachineRecord;

  constructor(record: MachineRecord) {
    this.#record = record;
    this.directory = join(MACHINES, record.name);
  }

  get name(): string {
    return this.#record.name;
  }

  get ip(): string {
    return this.#record.ip;
  }

  get record(): MachineRecord {
    return this.#record;
  }

  /** The upper layer of the root file system: the files that the machine has written, on the host. */
  get upper(): string {
    return join(this.directory, 'upper');
  }

  /** The whole output on the console since the machine was created. */
  console(): string {
    return readFileSync(join(this.directory, 'console.log'), 'utf8');
  }

  isUp(): boolean {
    return this.#record.supervisor !== undefined && isRunning(this.#record.supervisor);
  }

  /** Boots the machine and waits until it is up, including the work of its user data. */
  async boot(timeoutMs?: number): Promise<void> {
    const { name, lower, images } = this.#record;
    const output = openSync(join(this.directory, 'console.log'), 'a', 0o600);
    const script = join(import.meta.dirname, 'boot.sh');
    const supervisor = spawn(
      'unshare',
      ['--mount', '--propagation', 'private', 'bash', script, this.directory, name, lower.join(':'), images, BRIDGE],
      { detached: true, stdio: ['ignore', output, output] },
    );
    closeSync(output);
    await new Promise<void>((resolve, reject) => supervisor.on('spawn', resolve).on('error', reject));
    supervisor.unref();
    const identity = identify(supervisor.pid ?? 0);
    if (identity === undefined) throw new Error(`machine ${name} ended at once:\n${this.#consoleTail()}`);
    this.#save({ ...this.#record, supervisor: identity });
    await this.waitUntilUp(timeoutMs);
  }

  /**
   * Waits until the init system reports that the machine is up; also for a machine that reboots itself. A machine that
   * bootstraps with cloud-init is up after the bootstrap, which takes minutes if the processors are busy.
   */
  async waitUntilUp(timeoutMs = 900_000): Promise<void> {
    await until(`machine ${this.name} is up`, timeoutMs, async () => {
      if (!this.isUp()) throw new Error(`machine ${this.name} ended while it booted:\n${this.#consoleTail()}`);
      if (this.leader() === undefined) return false;
      const { status } = await this.exec(['sh', '-c', this.#init.isUp], { timeoutMs: 10_000 });
      return status === 0;
    });
  }

  /** The pid of the machine's init process in the pid namespace of the host; undefined if there is none. */
  leader(): number | undefined {
    const nspawn = this.#nspawn();
    return nspawn === undefined ? undefined : childrenOf(nspawn.pid)[0];
  }

  /** Runs a command in the machine. A status other than 0 is no error; a machine that is not up is. */
  async exec(command: readonly string[], options: ExecOptions = {}): Promise<Finished> {
    const leader = this.leader();
    if (leader === undefined) throw new Error(`machine ${this.name} is not up`);
    const environment = { PATH: ROOT_PATH, HOME: '/root', LANG: 'C.UTF-8', ...options.env };
    // The command must enter the cgroups of the machine before it enters its namespaces.
    const enterGroups = 'for group in $1; do echo $$ > $group/cgroup.procs || exit 125; done; shift; exec "$@"';
    const groups = innerCgroups(this.name).join(' ');
    const enter = ['nsenter', '-t', `${leader}`, '-m', '-u', '-i', '-n', '-p', '-C', '--'];
    const inside = (words: readonly string[], more: ExecOptions) =>
      run('sh', ['-c', enterGroups, 'enter', groups, ...enter, ...words], { ...more, env: environment });
    // Whoever waits for a command that hangs is told what the machine does meanwhile: afterwards it is gone.
    const hanging = setTimeout(async () => {
      const { stdout } = await inside(['sh', '-c', ACTIVITY], { timeoutMs: 30_000 });
      console.error(`${this.name}: ${command.join(' ').slice(0, 200)} has run for ${SLOW_MS / 1000} s:\n${stdout}`);
    }, SLOW_MS);
    try {
      return await inside(command, options);
    } finally {
      clearTimeout(hanging);
    }
  }

  /** Runs a shell script in the machine and returns its stdout. If it fails, throws an error with its output. */
  async shell(script: string, options: ExecOptions = {}): Promise<string> {
    const { status, stdout, stderr } = await this.exec(['sh', '-euc', script], options);
    if (status !== 0) throw new Error(`on ${this.name}: ${script}\nended with ${status}: ${stderr}${stdout}`);
    return stdout;
  }

  /** Copies a file of the host, with its mode, into the running machine. */
  async copyIn(source: string, destination: string): Promise<void> {
    const mode = (statSync(source).mode & 0o7777).toString(8);
    await this.write(destination, readFileSync(source), mode);
  }

  /** Writes a file in the running machine atomically. @param mode octal digits */
  async write(destination: string, content: string | Uint8Array, mode = '644'): Promise<void> {
    const script =
      'mkdir -p "$(dirname "$1")"; rm -f "$1.new"; umask 077; cat > "$1.new"; chmod "$2" "$1.new"; mv "$1.new" "$1"';
    const { status, stderr } = await this.exec(['sh', '-euc', script, 'write', destination, mode], { input: content });
    if (status !== 0) throw new Error(`could not write ${destination} on ${this.name}: ${stderr}`);
  }

  /** Reboots it from inside, as an operator would, and waits until it is up again. */
  async reboot(): Promise<void> {
    const before = this.#nspawn();
    await this.exec(['sh', '-c', this.#init.reboot], { timeoutMs: 30_000 });
    await until(`machine ${this.name} goes down`, 120_000, async () => {
      const now = this.#nspawn();
      return now !== undefined && now.pid !== before?.pid;
    });
    await this.waitUntilUp();
  }

  /** SIGKILL to a process of the machine, by its pid in the machine. */
  async kill9(pid: number): Promise<void> {
    await this.shell(`kill -9 ${pid}`);
  }

  /** Shuts the machine down. The disk stays. */
  async powerOff(): Promise<void> {
    const leader = this.leader();
    if (leader !== undefined && this.#record.init === 'openrc') await this.exec(['init', '0'], { timeoutMs: 30_000 });
    else if (leader !== undefined) process.kill(leader, POWER_OFF);
    await until(`machine ${this.name} powers off`, 120_000, async () => !this.isUp());
    this.#forgetSupervisor();
    removeMachineCgroups(this.name);
  }

  /** Simulates a loss of power: kills every process of the machine. The disk stays as it is. */
  async cutPower(): Promise<void> {
    const nspawn = this.#nspawn();
    const leader = this.leader();
    const inside = leader === undefined ? undefined : identify(leader);
    // The supervisor first, because it would otherwise react to the exit of the machine. Then the machine's init process:
    // with it, the kernel kills every process in its pid namespace.
    for (const victim of [this.#record.supervisor, inside, nspawn]) if (victim !== undefined) killProcess(victim);
    await until(`machine ${this.name} is dead`, 30_000, async () => {
      return [this.#record.supervisor, inside, nspawn].every((victim) => victim === undefined || !isRunning(victim));
    });
    // The kernel removes the interface with the network namespace, some time after the last process. Until then, the name
    // is in use and the machine cannot boot again.
    await run('ip', ['link', 'delete', `vb-${this.name}`]);
    this.#forgetSupervisor();
    removeMachineCgroups(this.name);
  }

  /** Saves the current disk for `revert`. The machine must be powered off. */
  async snapshot(): Promise<void> {
    if (this.isUp()) throw new Error(`power ${this.name} off before its disk is kept`);
    const upper = await snapshotDisk(this.directory);
    this.#save({ ...this.#record, lower: [upper, ...this.#record.lower] });
  }

  /** Kills the machine if it runs, and restores the disk from its snapshot. The machine is not booted. */
  async revert(): Promise<void> {
    await this.cutPower();
    await revertDisk(this.directory);
  }

  /** Kills the machine if it runs, and removes it with its disk. */
  async destroy(): Promise<void> {
    await this.cutPower();
    rmSync(this.directory, { recursive: true, force: true });
  }

  get #init(): (typeof INITS)[Init] {
    return INITS[this.#record.init ?? 'systemd'];
  }

  /** The nspawn process: the pid that boot.sh recorded, if the command line of that process names this machine. */
  #nspawn(): ProcessIdentity | undefined {
    const { supervisor } = this.#record;
    const file = join(this.directory, 'nspawn.pid');
    if (supervisor === undefined || !existsSync(file)) return undefined;
    const identity = identify(Number(readFileSync(file, 'utf8')));
    if (identity === undefined || identity.bootId !== supervisor.bootId) return undefined;
    const command = readFileSync(`/proc/${identity.pid}/cmdline`, 'utf8').split('\0');
    return command.includes(`--machine=${this.name}`) ? identity : undefined;
  }

  #forgetSupervisor(): void {
    const { supervisor: _, ...rest } = this.#record;
    rmSync(join(this.directory, 'nspawn.pid'), { force: true });
    this.#save(rest);
  }

  #save(record: MachineRecord): void {
    this.#record = record;
    const file = join(this.directory, 'machine.json');
    writeFileSync(`${file}.new`, JSON.stringify(record, null, 2));
    renameSync(`${file}.new`, file);
  }

  #consoleTail(): string {
    return this.console().trimEnd().split('\n').slice(-10).join('\n');
  }
}

const ROOT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
