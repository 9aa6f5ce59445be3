import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Entry, ExpectedLooks, Preparation } from './case-files.ts';

const CHECKOUT = join(import.meta.dirname, '../..');

/** systemd's host key, which the first encryption on a machine makes. */
const HOST_KEY = '/var/lib/systemd/credential.secret';
/** The agent's own records, which are the business of other tests, and what belongs to the environment of the case. */
const OWN = ['/var/lib/machineadm', '/run/machineadm', HOST_KEY, '/run/case', '/run/stand-in', '/run/mount'];

/** Stands in for systemctl(1): keeps the states of services as files below /run/stand-in. */
const SYSTEMCTL = join(import.meta.dirname, '../fixtures/cases/systemctl');

/**
 * A root of a case's own, below /mnt: an overlay of this machine's, kept in memory, with a /run of its own. What is
 * written lies in its upper layer, so that everything that changed is found, wherever it is.
 */
export class CaseRoot implements Disposable {
  readonly path: string;
  readonly #upper: string;

  /**
   * @param devices those of this machine, or a few of the root's own: for commands of others, which may do to a device
   * whatever they do to a file
   */
  constructor(name: string, devices: 'shared' | 'own' = 'shared') {
    const directory = join('/mnt', name);
    this.path = join(directory, 'root');
    this.#upper = join(directory, 'upper');
    const layers = `lowerdir=/,upperdir=${this.#upper},workdir=${join(directory, 'work')}`;
    for (const made of [this.path, this.#upper, join(directory, 'work')])
      mkdirSync(made, { recursive: true, mode: 0o755 });
    for (const made of [directory, this.path, this.#upper]) chmodSync(made, 0o755);
    mount('-t', 'overlay', '-o', layers, 'none', this.path);
    mount('-t', 'proc', 'proc', join(this.path, 'proc'));
    mount('-t', 'sysfs', 'sysfs', join(this.path, 'sys'));
    mount('-t', 'tmpfs', '-o', 'mode=755', 'none', join(this.path, 'run'));
    if (devices === 'shared') mount('--rbind', '/dev', join(this.path, 'dev'));
    else this.#makeDevices();
    this.#showCheckout();
    this.shell('rm -rf /var/lib/machineadm; mkdir -m 0700 /run/case');
  }

  #makeDevices(): void {
    const directory = join(this.path, 'dev');
    mount('-t', 'tmpfs', '-o', 'mode=755', 'none', directory);
    const names = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];
    const { status, stderr } = spawnSync('cp', ['-a', ...names.map((name) => join('/dev', name)), directory]);
    if (status !== 0) throw new Error(`no devices: ${stderr}`);
    for (const [name, target] of Object.entries({ fd: 'fd', stdin: 'fd/0', stdout: 'fd/1', stderr: 'fd/2' }))
      symlinkSync(`/proc/self/${target}`, join(directory, name));
  }

  [Symbol.dispose](): void {
    spawnSync('umount', ['--recursive', '--lazy', this.path]);
  }

  /**
   * What runs a program in the root, among processes of its own: the agent ends those that an earlier run left, and
   * would find those of other cases.
   */
  get wrapper(): readonly string[] {
    return ['unshare', '-p', '-f', '--kill-child', 'chroot', this.path, 'sh', '-c', WITH_OWN_PROCESSES, 'sh'];
  }

  /** Runs a script in the root and gives what it prints; it must succeed. */
  shell(script: string): string {
    const [program = '', ...args] = this.wrapper;
    const done = spawnSync(program, [...args, 'sh', '-ec', script], { encoding: 'utf8', env: ENVIRONMENT });
    if (done.status !== 0) throw new Error(`ended with ${done.status}: ${script}\n${done.stdout}${done.stderr}`);
    return done.stdout;
  }

  /** The path of the real root at which `path` of this one lies. A link on the way that leads out is an error. */
  outside(path: string): string {
    const parent = realpathSync(join(this.path, dirname(path)));
    if (parent !== this.path && !parent.startsWith(`${this.path}/`)) throw new Error(`${path} leads out of the root`);
    return join(parent, basename(path));
  }

  /** Makes the root what a case says it is. */
  prepare({ tree, services, shell }: Preparation): void {
    for (const [path, entry] of Object.entries(tree)) this.#put(path, entry);
    if (services !== undefined) {
      this.shell('mkdir -p /run/systemd/system /run/stand-in');
      writeFileSync(this.outside('/usr/bin/systemctl'), readFileSync(SYSTEMCTL), { mode: 0o755 });
    }
    for (const [service, { active, enabled }] of Object.entries(services ?? {})) {
      const unit = `/run/stand-in/${service}.service`;
      const states = ['exists', ...(active ? ['active'] : []), ...(enabled ? ['enabled'] : [])];
      this.shell(`mkdir ${unit}; cd ${unit}; touch ${states.join(' ')}`);
    }
    if (shell !== undefined) this.shell(shell);
  }

  /** What differs between a tree and this root, a line each; [] = it is as the tree says. */
  differencesFrom(tree: ExpectedLooks['tree']): string[] {
    return Object.entries(tree).flatMap(([path, wanted]) =>
      this.#difference(path, wanted).map((text) => `${path}: ${text}`),
    );
  }

  /** Everything that is not as in this machine's root, by path; the agent's own records left out. */
  changed(): ReadonlyMap<string, string> {
    const found = new Map<string, string>();
    list(this.#upper, '', found, (path) => sameDirectory(path, join(this.#upper, path)));
    list(join(this.path, 'run'), '/run', found, () => false);
    return found;
  }

  /** A checkout on a file system of its own is not in the overlay. */
  #showCheckout(): void {
    const place = join(this.path, CHECKOUT);
    if (existsSync(join(place, 'package.json'))) return;
    mkdirSync(place, { recursive: true });
    mount('--bind', CHECKOUT, place);
    mount('-o', 'remount,bind,ro', place);
  }

  #put(path: string, entry: Entry): void {
    this.shell(`umask 022; mkdir -p '${dirname(path)}'`);
    const place = this.outside(path);
    if (entry.type === 'absent') this.shell(`rm -rf '${path}'`);
    if (entry.type === 'link') symlinkSync(entry.link ?? '', place);
    if (entry.type === 'absent' || entry.type === 'link') return;
    if (entry.type === 'directory') mkdirSync(place, { recursive: true });
    else writeFileSync(place, entry.content ?? '');
    const [uid, gid] = this.#ids(entry.owner ?? 'root:root');
    chownSync(place, uid, gid);
    chmodSync(place, Number.parseInt(entry.mode ?? (entry.type === 'directory' ? '0755' : '0644'), 8));
  }

  #difference(path: string, wanted: Entry): string[] {
    const place = this.#placeOf(path);
    if (place === undefined) return wanted.type === 'absent' ? [] : ['does not exist'];
    const found = lstatSync(place);
    const type = found.isFile()
      ? 'file'
      : found.isDirectory()
        ? 'directory'
        : found.isSymbolicLink()
          ? 'link'
          : 'other';
    if (type !== wanted.type) return expectEqual('type', type, wanted.type);
    const owners = wanted.owner === undefined ? undefined : this.#ids(wanted.owner).join(':');
    const bytes = type === 'file' ? readFileSync(place) : Buffer.alloc(0);
    const missing = (wanted.contains ?? []).filter((piece) => !bytes.toString().includes(piece));
    return [
      ...expectEqual('mode', octal(found.mode), wanted.mode),
      ...expectEqual('owner', `${found.uid}:${found.gid}`, owners),
      ...expectEqual('link', type === 'link' ? readlinkSync(place) : '', wanted.link),
      ...expectEqual('content', bytes.toString(), wanted.content),
      ...expectEqual('sha256', createHash('sha256').update(bytes).digest('hex'), wanted.sha256),
      ...missing.map((piece) => `lacks ${JSON.stringify(piece)}: ${bytes.toString()}`),
    ];
  }

  #placeOf(path: string): string | undefined {
    if (!existsSync(join(this.path, dirname(path)))) return undefined;
    const place = this.outside(path);
    return lstatSync(place, { throwIfNoEntry: false }) === undefined ? undefined : place;
  }

  /** uid and gid of `user:group` as this root knows them. */
  #ids(owner: string): [number, number] {
    const [user = '', group = ''] = owner.split(':');
    return [this.#id('passwd', user), this.#id('group', group)];
  }

  #id(database: 'passwd' | 'group', name: string): number {
    if (/^\d+$/.test(name)) return Number(name);
    const lines = readFileSync(this.outside(`/etc/${database}`), 'utf8').split('\n');
    const id = lines.find((line) => line.startsWith(`${name}:`))?.split(':')[2];
    if (id === undefined) throw new Error(`nobody is called ${name} in /etc/${database}`);
    return Number(id);
  }
}

const WITH_OWN_PROCESSES = 'mount -t proc proc /proc; "$@"; status=$?; umount -l /proc; exit $status';
const ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' };

function mount(...args: readonly string[]): void {
  execFileSync('mount', args);
}

function list(directory: string, shownAs: string, found: Map<string, string>, skip: (path: string) => boolean): void {
  for (const name of readdirSync(directory).sort()) {
    const path = `${shownAs}/${name}`;
    if (OWN.includes(path)) continue;
    const real = join(directory, name);
    const { mode, uid, gid, size, mtimeMs, rdev } = lstatSync(real);
    const isDirectory = (mode & 0o170000) === 0o040000;
    // A directory changes its times with what is in it, which is listed itself.
    const rest = isDirectory ? '' : `${size} ${mtimeMs} ${rdev}`;
    if (!isDirectory || !skip(path)) found.set(path, `${mode.toString(8)} ${uid}:${gid} ${rest}`);
    if (isDirectory) list(real, path, found, skip);
  }
}

/** Whether a directory of the upper layer is only there for what lies in it. */
function sameDirectory(path: string, copy: string): boolean {
  try {
    const [lower, upper] = [lstatSync(path), lstatSync(copy)];
    return lower.isDirectory() && lower.mode === upper.mode && lower.uid === upper.uid && lower.gid === upper.gid;
  } catch {
    return false;
  }
}

/** One line where what was found is not what the case says; nothing where it says nothing. */
function expectEqual(what: string, found: string, wanted: string | undefined): string[] {
  return wanted === undefined || found === wanted
    ? []
    : [`${what} is ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`];
}

function octal(mode: number): string {
  return `0${(mode & 0o7777).toString(8).padStart(3, '0')}`;
}
