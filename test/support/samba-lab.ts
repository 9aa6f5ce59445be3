import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BRIDGE } from '../../scripts/lab/host-changes.ts';
import { mustRun } from '../../scripts/lab/process.ts';
import { ACCOUNTS, DOMAIN, newPasswords, type Passwords } from './samba-domain.ts';

/** The end of its cable on the bridge; the kernel deletes both ends with the namespace of the controller. */
const CABLE = 'machineadm-dc';

/** As process 1 of its namespaces: when it dies, all of it does, and its mounts with it. */
const RUN = `
mount --make-rprivate /
mount -t tmpfs -o mode=755,size=1g none "$1/mounts"
cd "$1/mounts"; mkdir upper work root
mount -t overlay -o "lowerdir=$2,upperdir=$PWD/upper,workdir=$PWD/work" none root
mount -t tmpfs -o mode=755 none root/run
mount -t proc proc root/proc
mount --rbind /dev root/dev
mkdir -m 700 root/passwords; cp "$1"/passwords/* root/passwords; cp "$4" root/controller.sh
exec chroot root bash /controller.sh "$3"
`;

/** Samba's domain controller at an address of the lab's network, where machines find it as name server and as domain. */
export class LabDomain implements AsyncDisposable {
  readonly address: string;
  readonly passwords: Passwords;
  readonly #directory: string;
  readonly #process: ChildProcess;

  private constructor(address: string, passwords: Passwords, directory: string, process: ChildProcess) {
    this.address = address;
    this.passwords = passwords;
    this.#directory = directory;
    this.#process = process;
  }

  /**
   * To be called when the lab's bridge is there: after the first machine started.
   *
   * @param root that of `sambaRoot`
   * @param known passwords that are not made up
   */
  static async start(root: string, address: string, known: Partial<Passwords> = {}): Promise<LabDomain> {
    const directory = mkdtempSync(join(tmpdir(), 'machineadm-domain-'));
    const passwords = { ...newPasswords(), ...known };
    mkdirSync(join(directory, 'passwords'), { mode: 0o700 });
    mkdirSync(join(directory, 'mounts'));
    for (const name of ACCOUNTS) writeFileSync(join(directory, 'passwords', name), passwords[name]);
    const log = openSync(join(directory, 'log'), 'w');
    const script = join(import.meta.dirname, 'samba-controller.sh');
    const namespaces = ['--net', '--uts', '--mount', '--pid', '--fork', '--kill-child'];
    const process = spawn('unshare', [...namespaces, 'sh', '-ec', RUN, 'sh', directory, root, address, script], {
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    const domain = new LabDomain(address, passwords, directory, process);
    try {
      await domain.#until('its namespaces', async () => readFileSync(domain.#inside('comm'), 'utf8') === 'bash\n');
      await mustRun('ip', ['link', 'add', CABLE, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', `${domain.#pid}`]);
      await mustRun('ip', ['link', 'set', CABLE, 'master', BRIDGE, 'up']);
      await domain.#until('its services', async () => {
        const ask = `KRB5_CONFIG=/etc/krb5.conf kinit -c MEMORY: administrator@${DOMAIN.toUpperCase()} < /passwords/administrator && dig +time=1 +tries=1 +short @${address} SRV _ldap._tcp.dc._msdcs.${DOMAIN} | grep -q dc1 && bash -c ': </dev/tcp/${address}/464 && : </dev/tcp/${address}/389'`;
        await domain.run(['sh', '-ec', ask]);
        return true;
      });
      return domain;
    } catch (error) {
      await domain[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Runs a command beside the controller. Throws where it fails. Returns what it printed. */
  async run(command: readonly string[]): Promise<string> {
    const enter = ['-t', `${this.#pid}`, '-n', '-u', '-m', '-p', '-r', '-w', ...command];
    return (await mustRun('nsenter', enter)).stdout;
  }

  /** Pulls its cable, or plugs it in again. */
  async connected(is: boolean): Promise<void> {
    await mustRun('ip', ['link', 'set', CABLE, is ? 'up' : 'down']);
  }

  /** Lets only questions about names through, or all again. */
  async onlyNames(is: boolean): Promise<void> {
    const rules = is
      ? 'add table inet test; add chain inet test in { type filter hook input priority 0; }; add rule inet test in iif eth0 meta l4proto { tcp, udp } th dport != 53 drop'
      : 'delete table inet test';
    await this.run(['nft', rules]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill('SIGKILL');
    while (this.#process.exitCode === null && this.#process.signalCode === null) await sleep(50);
    rmSync(this.#directory, { recursive: true });
  }

  /** The controller's process 1, which unshare(1) has made. */
  get #pid(): number {
    const children = `/proc/${this.#process.pid}/task/${this.#process.pid}/children`;
    return Number(readFileSync(children, 'utf8').trim().split(' ')[0]);
  }

  #inside(file: string): string {
    return `/proc/${this.#pid}/${file}`;
  }

  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const end = Date.now() + 180_000;
    for (;;) {
      assert.equal(this.#process.exitCode, null, this.#log());
      if (await isSo().catch(() => false)) return;
      assert.ok(Date.now() < end, `the controller has ${what} within 180 s: ${this.#log()}`);
      await sleep(1000);
    }
  }

  #log(): string {
    return readFileSync(join(this.#directory, 'log'), 'utf8').slice(-2000);
  }
}
