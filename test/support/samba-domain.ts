import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bundle } from '../../scripts/build/bundle.ts';
import { type AgentRun, agent } from './agent.ts';
import { needs } from './needs.ts';

const REPOSITORY = resolve(import.meta.dirname, '../..');
/** Every machine has it at the same path. */
const SHARED = '/mnt/shared';
/** machineadm: from its sources, each of the many runs would take half a second of a processor more. */
const PROGRAM = `${SHARED}/machineadm.cjs`;
const CONTROLLER = '10.98.0.1';
const MACHINES = '10.98.0.2';

export const DOMAIN = 'corp.example.test';
export const REALM = DOMAIN.toUpperCase();
export const BASE = 'DC=corp,DC=example,DC=test';
export const NODES = `OU=Nodes,${BASE}`;
export const ACCOUNTS = ['administrator', 'joiner', 'plain', 'disabled', 'expired'] as const;

/** By account. */
export type Passwords = Readonly<Record<(typeof ACCOUNTS)[number], string>>;

export function newPasswords(): Passwords {
  const password = () => `Aa1-${randomBytes(15).toString('hex')}`;
  return {
    administrator: password(),
    joiner: password(),
    plain: password(),
    disabled: password(),
    expired: password(),
  };
}

/** A root file system with Samba and adcli, made once and kept in the cache; or why it cannot be had. */
export function sambaRoot(): { readonly root: string } | { readonly unavailable: string } {
  const cache = join(homedir(), '.cache', 'machineadm', 'test-samba');
  const root = join(cache, 'root');
  if (existsSync(root)) return { root };
  const missing = needs('root', 'apt-get');
  if (missing !== false) return { unavailable: missing };
  const made = spawnSync('bash', [join(import.meta.dirname, 'samba-root.sh'), cache], { encoding: 'utf8' });
  return made.status === 0 ? { root } : { unavailable: `Samba cannot be had: ${made.stderr.slice(-500)}` };
}

/**
 * A real Active Directory domain: Samba's controller in namespaces of its own, one cable from this network namespace.
 * To be used below `inNamespaces`: when that ends, all of it does.
 */
export class Domain implements AsyncDisposable {
  readonly passwords: Passwords;
  readonly #root: string;
  readonly #samba: ChildProcess;
  readonly #machines = new Map<string, DomainMachine>();

  private constructor(root: string, passwords: Domain['passwords'], samba: ChildProcess) {
    this.#root = root;
    this.passwords = passwords;
    this.#samba = samba;
  }

  /** About 15 s. */
  static async start(root: string): Promise<Domain> {
    mkdirSync(SHARED, { mode: 0o755 });
    await bundle(join(REPOSITORY, 'src/main.ts'), PROGRAM, { commit: 'test' });
    const passwords = newPasswords();
    const place = overlay(root, 'dc');
    mkdirSync(join(place, 'passwords'), { mode: 0o700 });
    for (const [name, text] of Object.entries(passwords)) writeFileSync(join(place, 'passwords', name), text);
    writeFileSync(join(place, 'controller.sh'), readFileSync(join(import.meta.dirname, 'samba-controller.sh')));
    const log = openSync('/mnt/dc.log', 'w');
    const samba = spawn(
      'unshare',
      ['--net', '--uts', '--mount', 'chroot', place, 'bash', '/controller.sh', CONTROLLER],
      { stdio: ['ignore', log, log] },
    );
    closeSync(log);
    const domain = new Domain(root, passwords, samba);
    await until('the namespaces of the controller', async () => otherNetwork(samba.pid));
    sh(
      `ip link add dc0 type veth peer name eth0 netns ${samba.pid} && ip addr add ${MACHINES}/24 dev dc0 && ip link set dc0 up`,
    );
    const probe = domain.machine('probe');
    await until('the controller', async () => {
      assert.equal(samba.exitCode, null, readFileSync('/mnt/dc.log', 'utf8').slice(-2000));
      const asked = probe.shell(
        `dig +time=1 +tries=1 +short SRV _ldap._tcp.dc._msdcs.${DOMAIN} | grep -q dc1 && timeout 10 adcli show-computer --domain=${DOMAIN} --login-user=administrator --stdin-password dc1 && timeout 1 bash -c ': </dev/tcp/${CONTROLLER}/464 && : </dev/tcp/${CONTROLLER}/445'`,
        passwords.administrator,
      );
      return asked.status === 0;
    });
    return domain;
  }

  /** A simulated machine of this name, with a root of its own; the same one each time. Two can have one name. */
  machine(name: string, place = name): DomainMachine {
    const known = this.#machines.get(place);
    if (known !== undefined) return known;
    const machine = new DomainMachine(name, overlay(this.#root, place));
    this.#machines.set(place, machine);
    return machine;
  }

  /** Runs `work` while the machines' packets that a rule of nft(8) names are dropped or refused. */
  async blocking<T>(rule: string, work: () => Promise<T>): Promise<T> {
    const nft = (text: string) => sh(`chroot ${this.#root} nft '${text}'`);
    nft(
      `add table inet test; add chain inet test out { type filter hook output priority 0; }; add rule inet test out ${rule}`,
    );
    try {
      return await work();
    } finally {
      nft('delete table inet test');
    }
  }

  /** Presets an account, and returns its one-time password. */
  preset(name: string): string {
    const password = `One-${randomBytes(12).toString('hex')}`;
    this.#asJoiner(
      `adcli preset-computer --domain=${DOMAIN} --login-user=joiner --stdin-password --domain-ou=${NODES} --one-time-password=${password} ${name}.${DOMAIN}`,
    );
    return password;
  }

  /** The text of an offline join blob, as `djoin /printblob` has it. */
  blob(name: string): string {
    const admin = this.machine('admin');
    admin.write('/root/smb.conf', `[global]\nsecurity = ads\nrealm = ${DOMAIN.toUpperCase()}\nworkgroup = CORP\n`);
    admin.write('/root/password', this.passwords.joiner);
    rmSync(admin.path('/root/blob'), { force: true });
    this.#asJoiner(
      `PASSWD_FILE=/root/password net offlinejoin provision -U joiner domain=${DOMAIN} machine_name=${name} machine_account_ou=${NODES} dcname=dc1.${DOMAIN} savefile=/root/blob --configfile=/root/smb.conf`,
    );
    return readFileSync(admin.path('/root/blob'))
      .toString('utf16le')
      .replace(/[\0\uFEFF]/g, '');
  }

  /** What the directory has, as ldapsearch(1) prints it. */
  search(filter: string, ...attributes: readonly string[]): string {
    const admin = this.machine('admin');
    admin.write('/etc/krb5.conf', `[libdefaults]\n default_realm = ${REALM}\n rdns = false\n`);
    const line = `kinit -c /root/tickets joiner >&2 && KRB5CCNAME=/root/tickets ldapsearch -N -Q -LLL -o ldif-wrap=no -Y GSSAPI -H ldap://dc1.${DOMAIN} -b ${BASE} '${filter}' ${attributes.join(' ')}`;
    const { status, stdout, stderr } = admin.shell(line, this.passwords.joiner);
    assert.equal(status, 0, stderr);
    return stdout;
  }

  #asJoiner(command: string): void {
    const done = this.machine('admin').shell(command, this.passwords.joiner);
    assert.equal(done.status, 0, `${done.stdout}\n${done.stderr}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // First: the kernel removes it with the network namespace of its other end, some time after that process.
    sh('ip link delete dc0');
    this.#samba.kill('SIGKILL');
  }
}

const ENTER = `
mount -t proc proc "$1/proc"
hostname "$2"
root=$1; shift 2
exec chroot "$root" "$@"
`;

/** A machine: its own root, host name and processes; the network is shared by all of them. */
export class DomainMachine {
  readonly name: string;
  readonly #root: string;

  constructor(name: string, root: string) {
    this.name = name;
    this.#root = root;
    this.write('/etc/resolv.conf', `nameserver ${CONTROLLER}\noptions timeout:1 attempts:2\n`);
    this.write('/etc/hosts', `127.0.0.1 localhost\n${MACHINES} ${name}\n`);
    this.write('/etc/hostname', `${name}\n`);
    this.write('/etc/machine-id', `${randomBytes(16).toString('hex')}\n`);
    sh(`rm -f ${root}/etc/krb5.conf`);
    for (const path of new Set([SHARED, dirname(dirname(realpathSync(process.execPath)))])) {
      sh(`mkdir -p ${root}${path} && mount --bind ${path} ${root}${path}`);
    }
  }

  /** Where a file of the machine lies for us. */
  path(path: string): string {
    return join(this.#root, path);
  }

  write(path: string, content: string): void {
    writeFileSync(this.path(path), content, { mode: 0o600 });
    sh(`chmod ${path === '/etc/resolv.conf' || path === '/etc/hosts' ? '644' : '600'} ${this.path(path)}`);
  }

  /** Runs a shell line on the machine. */
  shell(line: string, input = '') {
    const [program = '', ...args] = [...this.#enter(), 'sh', '-c', line];
    return spawnSync(program, args, {
      input,
      encoding: 'utf8',
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
    });
  }

  /** Runs machineadm on the machine, perhaps below another program. */
  agent(args: readonly string[], wrapper: readonly string[] = []): Promise<AgentRun> {
    return agent(args, { wrapper: [...this.#enter(), ...wrapper], main: PROGRAM });
  }

  #enter(): readonly string[] {
    return ['unshare', '-m', '-u', '-p', '-f', '--kill-child', 'sh', '-ec', ENTER, 'sh', this.#root, this.name];
  }
}

function overlay(lower: string, name: string): string {
  const place = `/mnt/machines/${name}`;
  // Samba serves as the user who connects, who must be able to enter the root.
  sh(`umask 022; mkdir -p ${place}/upper ${place}/work ${place}/root
mount -t overlay -o lowerdir=${lower},upperdir=${place}/upper,workdir=${place}/work none ${place}/root
mount -t tmpfs -o mode=755 none ${place}/root/run
mount -t proc proc ${place}/root/proc
mount --rbind /dev ${place}/root/dev`);
  return `${place}/root`;
}

function otherNetwork(pid: number | undefined): boolean {
  const network = (of: string) => {
    const read = spawnSync('readlink', [`/proc/${of}/ns/net`], { encoding: 'utf8' });
    return read.stdout.trim();
  };
  return pid !== undefined && network(`${pid}`) !== '' && network(`${pid}`) !== network('self');
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 180_000;
  while (!(await isSo())) {
    assert.ok(Date.now() < end, `not within 180 s: ${what}`);
    await sleep(1000);
  }
}

function sh(script: string): void {
  const { status, stderr } = spawnSync('sh', ['-ec', script], { encoding: 'utf8' });
  assert.equal(status, 0, `${script}: ${stderr}`);
}
