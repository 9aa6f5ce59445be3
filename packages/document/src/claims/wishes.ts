import type { PathSegment } from '../diagnostics/index.ts';
import type { HOST_PARTS } from '../host-parts/index.ts';
import type { Limit, LimitsModel } from '../host-parts/limits.ts';
import type { Model } from '../model/index.ts';
import { canonicalPath } from '../ownership/collisions.ts';
import { unitDropInPath } from '../ownership/paths.ts';
import type { StepId } from '../ownership/step-ids.ts';

/**
 * One thing that a document asks for, on a machine that may have several documents: the same key with the same value is
 * shared, with another value it is a conflict.
 */
export interface Wish {
  readonly step: StepId;
  /**
   * `kind:name`, for what the kernel, the service manager and the accounts name, as in the journal (`kernel:/proc/sys/…`,
   * `module:overlay`, `user:core`, `path:/etc/motd`). For a section that a machine has once, the id of the step alone.
   */
  readonly key: string;
  /** May hold secrets: only its fingerprint is recorded. undefined: any value will do. */
  readonly value?: unknown;
  readonly field: readonly PathSegment[];
}

type Add = (step: StepId, key: string, field: readonly PathSegment[], value?: unknown) => void;

/** All that a document asks of a machine, except commands and images, which conflict with nothing. Pure. */
export function wishesOf(model: Model): readonly Wish[] {
  const found: Wish[] = [];
  const add: Add = (step, key, field, value) => {
    found.push({ step, key, field, ...(value === undefined ? {} : { value }) });
  };
  addSections(model, add);
  addKernel(model, add);
  addAccounts(model, add);
  addNamed(model, add);
  addPaths(model, add);
  // Every run that succeeds leaves it.
  add('sentinel', 'sentinel', ['reporting']);
  return found;
}

/**
 * Of each part of the host that a machine has once: the steps that apply it. Two documents may have such a part only if it is the
 * same. `entries`: each entry is a wish of its own, below. `none`: it conflicts with nothing. A part without a line does not compile.
 */
const PARTS_OF_HOST = {
  hostname: ['hostname'],
  network: ['network'],
  timezone: ['timezone'],
  selinux: ['selinux'],
  time: ['time', 'clock'],
  proxy: ['proxy'],
  activeDirectory: ['active-directory', 'directory-address', 'directory-logins'],
  swap: ['swap'],
  hosts: 'entries',
  apparmor: 'entries',
  kernelModules: 'entries',
  sysctl: 'entries',
  limits: 'entries',
  groups: 'entries',
  users: 'entries',
  certificateAuthorities: 'entries',
  services: 'entries',
  storage: 'entries',
  directories: 'entries',
  files: 'entries',
  links: 'entries',
  prune: 'none',
  hooks: 'none',
} as const satisfies Readonly<Record<keyof typeof HOST_PARTS, readonly StepId[] | 'entries' | 'none'>>;

/** Sections that a machine has once: two documents may have one only if it is the same. */
function addSections({ host, containerd, kubernetes, hardening }: Model, add: Add): void {
  const values: Readonly<Record<string, unknown>> = { ...host, swap: host.swap === 'Disabled' ? host.swap : undefined };
  const ofHost = Object.entries(PARTS_OF_HOST).flatMap(([part, steps]) =>
    typeof steps === 'string' ? [] : [[steps, ['host', part], values[part]] as const],
  );
  const sections: readonly (readonly [readonly StepId[], readonly PathSegment[], unknown])[] = [
    ...ofHost,
    [['containerd', 'registries'], ['containerRuntime', 'containerd'], containerd],
    [
      [
        'kubeadm',
        'pki',
        'control-plane-files',
        'kubeadm-config',
        'static-pods',
        'api-server',
        'kubelet-arguments',
        'node-addresses',
        'node-labels',
      ],
      ['kubernetes'],
      kubernetes,
    ],
    [['hardening'], ['hardening'], hardening],
  ];
  for (const [steps, field, value] of sections)
    if (value !== undefined) for (const step of steps) add(step, step, field, value);
  if (host.hosts?.ownName === true) add('hosts', 'hosts:own name', ['host', 'hosts', 'ownName']);
}

function addKernel({ host }: Model, add: Add): void {
  for (const { key, value } of host.sysctl)
    add('sysctl', `kernel:/proc/sys/${key}`, ['host', 'sysctl', dotted(key)], value.trim().replace(/\s+/g, ' '));
  for (const name of host.kernelModules) add('kernel-modules', `module:${name}`, ['host', 'kernelModules']);
  if (host.limits !== undefined) addLimits(host.limits, add);
}

/** As documents write a key: a dot in the name of an interface is a slash then. */
function dotted(key: string): string {
  return key.replace(/[./]/g, (separator) => (separator === '/' ? '.' : '/'));
}

function addLimits({ services, sessions }: LimitsModel, add: Add): void {
  const each = (limits: readonly Limit[], ...field: readonly string[]) => {
    for (const { name, soft, hard } of limits) {
      const path = ['host', 'limits', ...field, name];
      add('limits', `limit:${[...field, name].join('/')}`, path, [soft, hard]);
    }
  };
  each(services, 'services');
  for (const { who, limits } of sessions) each(limits, 'sessions', who);
}

function addAccounts({ host }: Model, add: Add): void {
  host.groups.forEach((group, index) => {
    add('groups', `group:${group.name}`, ['host', 'groups', index], group);
  });
  host.users.forEach(({ at, ...user }, index) => {
    const field = ['host', 'users', at ?? index];
    add('users', `user:${user.name}`, field, user);
    for (const name of [...user.groups, ...(user.primaryGroup === undefined ? [] : [user.primaryGroup])])
      if (!host.groups.some((group) => group.name === name)) add('groups', `group:${name}`, field);
  });
}

/** What has a name on the machine, but is no path. */
function addNamed({ host }: Model, add: Add): void {
  const byName = new Map<string, string[]>();
  for (const { address, names } of host.hosts?.entries ?? [])
    for (const name of names) {
      const key = `hosts:${address.includes(':') ? 'IPv6' : 'IPv4'} ${name.toLowerCase()}`;
      byName.set(key, [...(byName.get(key) ?? []), address].sort());
    }
  for (const [key, addresses] of byName) add('hosts', key, ['host', 'hosts', 'entries'], addresses);
  host.certificateAuthorities.forEach(({ name, pem }, index) => {
    add('certificate-authorities', `ca:${name}`, ['host', 'certificateAuthorities', index], pem);
  });
  host.services.forEach(({ name, enabled, masked, state, at }, index) => {
    const value = [enabled, masked, state];
    if (value.some((one) => one !== undefined))
      add('services', `service:${serviceName(name)}`, ['host', 'services', at ?? index], value);
  });
  const { disks, filesystems, mounts } = host.storage;
  disks.forEach((disk, index) => {
    add('disks', `disk:${deviceName(disk.device)}`, ['host', 'storage', 'disks', index], disk);
  });
  filesystems.forEach((made, index) => {
    add('filesystems', `filesystem:${deviceName(made.device)}`, ['host', 'storage', 'filesystems', index], made);
  });
  mounts.forEach(({ at, ...mount }, index) => {
    const swapOn = 'device' in mount ? deviceName(mount.device) : mount.source;
    const key = mount.path === 'none' ? `swap:${swapOn}` : `mount:${canonicalPath(mount.path)}`;
    add('mounts', key, ['host', 'storage', 'mounts', at ?? index], mount);
  });
  for (const { kind, name, field } of host.absentNames) {
    const key = kind === 'swap-file' ? `swap:${name}` : `${kind}:${kind === 'service' ? serviceName(name) : name}`;
    add('removals', key, ['host', ...field], 'absent');
  }
}

function serviceName(name: string): string {
  return name.replace(/\.service$/, '');
}

function deviceName(device: Model['host']['storage']['disks'][number]['device']): string {
  const { waitMs: _waitMs, ...rest } = device;
  return JSON.stringify(rest);
}

/** Files and the like; all that a document says of one path is one wish. */
function addPaths({ host }: Model, add: Add): void {
  const paths = new Map<string, { step: StepId; field: readonly PathSegment[]; value: unknown[] }>();
  const each = <Entry extends { readonly path: string; readonly at?: number }>(
    step: StepId,
    section: readonly PathSegment[],
    entries: readonly Entry[],
  ): void => {
    entries.forEach(({ at, ...entry }, index) => {
      const path = canonicalPath(entry.path);
      const known = paths.get(path) ?? { step, field: [...section, at ?? index], value: [] };
      known.value.push([step, entry]);
      paths.set(path, known);
    });
  };
  each('files', ['host', 'files'], host.files);
  each('archives', ['host', 'files'], host.archives);
  each('directories', ['host', 'directories'], host.directories);
  each('links', ['host', 'links'], host.links);
  each('apparmor', ['host', 'apparmor', 'profiles'], host.apparmor?.profiles ?? []);
  host.services.forEach(({ name, dropIns, at }, index) => {
    each(
      'services',
      ['host', 'services', at ?? index, 'dropIns'],
      dropIns.map((dropIn) => ({ path: unitDropInPath(name, dropIn.name), content: dropIn.content })),
    );
  });
  for (const { path, field } of host.absent)
    paths.set(canonicalPath(path), { step: 'removals', field: ['host', ...field], value: ['absent'] });
  for (const [path, { step, field, value }] of paths) add(step, `path:${path}`, field, value);
}
