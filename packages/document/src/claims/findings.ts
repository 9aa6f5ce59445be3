import type { Finding, PathSegment } from '../diagnostics/index.ts';
import type { HostModel, Model, ServiceModel } from '../model/index.ts';
import type { Claim } from '../ownership/claim.ts';
import { type Collision, canonicalPath, collisionsOf } from '../ownership/collisions.ts';
import { FSTAB, HOOKS_SERVICE, SENTINEL_SERVICE, TIME_SERVICES } from '../ownership/paths.ts';
import { claimsOf, OWN_STEP } from './index.ts';

/** Parts of a document that manage the same thing, so that each run would change it twice. Pure. */
export function ownershipFindings(model: Model): readonly Finding[] {
  if (model.host.platform !== 'linux') return [];
  const claims = claimsOf(model);
  return [
    ...collisionsOf(claims).filter(isNew).map(toFinding),
    ...recursionFindings(model.host, claims),
    ...swapFindings(model.host),
    ...serviceFindings(model),
    ...absentNameFindings(model.host),
  ].map((finding) => ({ code: 'Collision', ...finding }));
}

/** The others are refused in their section: a duplicate path, and a static pod of kubeadm's. */
function isNew({ first, second }: Collision): boolean {
  if (first.step === 'static-pods' && second.step === 'kubeadm') return false;
  const isSameEntry = first.step !== 'services' || first.field[2] === second.field[2];
  return first.step !== second.step || first.path !== second.path || !isSameEntry;
}

function toFinding({ first, second, how }: Collision): Finding {
  // The finding stands at the file of the document, whose path the reader can change; else at the later of the two.
  const isSecond = how === 'removed with its directory' || second.step === 'files' || first.step !== 'files';
  const [at, other] = isSecond ? [second, first] : [first, second];
  const own = other.step === OWN_STEP;
  const finding = { path: at.field, message: what(at, other, how), hint: hintFor(at, other, how) };
  return own ? finding : { ...finding, other: other.field };
}

function what(at: Claim, other: Claim, how: Collision['how']): string {
  if (other.step === OWN_STEP) {
    return how === 'hidden by the mount'
      ? `the mount would hide ${other.path}, where machineadm keeps its state`
      : `${at.path} belongs to machineadm itself`;
  }
  switch (how) {
    case 'same file':
      return `${at.path} is already managed by`;
    case 'lines of a file that is replaced':
      return at.kind === 'lines'
        ? `lines are added to ${at.path}, and the whole file is managed by`
        : `${at.path} is written entirely, and some of its lines are managed by`;
    case 'file and directory':
      if (other.kind === 'mount') return `${at.path} is a file here, and the mount point of`;
      return `${at.path} and ${other.path} cannot both exist: the one is a file where the other needs a directory. See`;
    case 'removed with its directory':
      return `${at.path} is to be there, and ${other.path} with all in it is removed by`;
    case 'hidden by the mount':
      return `the mount on ${at.path} would hide ${other.path}, written before by`;
  }
}

function hintFor(at: Claim, other: Claim, how: Collision['how']): string {
  if (other.step === OWN_STEP) return 'choose another path';
  if (how === 'removed with its directory') return 'remove one of them';
  if (how === 'hidden by the mount') return 'mount it elsewhere, or have it mounted in the image';
  if (at.step === 'files' && at.kind === 'file' && other.kind === 'lines') {
    return 'add lines with append: true, or remove one of them: each run would change the file twice';
  }
  return 'remove one of them: each run would change the file twice';
}

/** Steps whose paths a recursion leaves alone (`features/directories/index.ts`), and mount points, which it gives their owner. */
const LEFT_ALONE: ReadonlySet<Claim['step']> = new Set<Claim['step']>([
  'directories',
  'files',
  'links',
  'removals',
  'mounts',
]);

/** Modes and owner of all in a directory, where something else gives a file in it others. */
function recursionFindings({ directories }: HostModel, claims: readonly Claim[]): readonly Finding[] {
  return directories.flatMap(({ path, recursive, at }, index) => {
    if (recursive === undefined) return [];
    const isOwnerOnly = recursive.mode === undefined && recursive.directoryMode === undefined;
    const other = claims.find(({ step, path: claimed }) => {
      // The keys of a user belong to the user.
      if (LEFT_ALONE.has(step) || (isOwnerOnly && step === 'users')) return false;
      return canonicalPath(claimed).startsWith(`${canonicalPath(path)}/`);
    });
    if (other === undefined) return [];
    const owner = other.step === OWN_STEP ? ' machineadm itself' : '';
    const message = `all in ${path} gets this mode and owner, and ${other.path} has its own by${owner}`;
    const hint = 'use a subdirectory, or remove recursive: each run would change the file twice';
    const field = ['host', 'directories', at ?? index, 'recursive'];
    return [{ path: field, message, hint, ...(other.step === OWN_STEP ? {} : { other: other.field }) }];
  });
}

const SWAP_LINE = /^[ \t]*[^#\s]\S*[ \t]+\S+[ \t]+swap\b/m;
/** Below /etc it is the swap step's own directory. */
const SWAP_UNIT = /^(?:\/run|\/usr\/lib|\/usr\/local\/lib|\/lib)\/systemd\/system\/[^/]+\.swap$/;

/** Swap that a file or a mount of the document switches on, while `host.swap` disables it. */
function swapFindings({ swap, files, storage }: HostModel): readonly Finding[] {
  if (swap !== 'Disabled') return [];
  const mounts = storage.mounts.flatMap(({ type, at }, index): Finding[] => {
    const path = ['host', 'storage', 'mounts', at ?? index];
    const message = 'switches swap on, contrary to';
    const finding = { code: 'Conflict', path, message, other: ['host', 'swap'], hint: 'remove one of them' } as const;
    return type === 'swap' ? [finding] : [];
  });
  const laid = files.flatMap(({ path, content, append, at }, index) => {
    const canonical = canonicalPath(path);
    const entry =
      append &&
      canonical === FSTAB &&
      content.kind === 'inline' &&
      SWAP_LINE.test(new TextDecoder().decode(content.bytes));
    if (!entry && !SWAP_UNIT.test(canonical)) return [];
    const message = `${path} switches swap on, contrary to`;
    const hint = 'remove one of them: each run would change the file twice';
    return [{ path: ['host', 'files', at ?? index], message, other: ['host', 'swap'], hint }];
  });
  return [...mounts, ...laid];
}

/** A service that a section needs, and `host.services` disables; and vice versa. */
function serviceFindings({ host, containerd, kubernetes }: Model): readonly Finding[] {
  const needed = new Map<string, readonly PathSegment[]>();
  if (containerd !== undefined) needed.set('containerd', ['containerRuntime', 'containerd']);
  if (kubernetes !== undefined && kubernetes.exec === undefined) needed.set('kubelet', ['kubernetes']);
  if (host.network !== undefined && host.network.tool !== 'netplan') {
    needed.set(host.network.tool === 'networkd' ? 'systemd-networkd' : 'NetworkManager', ['host', 'network', 'tool']);
  }
  if ((host.apparmor?.profiles.length ?? 0) > 0) needed.set('apparmor', ['host', 'apparmor']);
  if (host.hooks.early?.frequency === 'Always') needed.set(HOOKS_SERVICE, ['host', 'hooks', 'early']);
  if (kubernetes !== undefined) needed.set(SENTINEL_SERVICE, ['kubernetes']);
  if (host.activeDirectory?.logins !== undefined) needed.set('sssd', ['host', 'activeDirectory', 'logins']);
  const forbidden = new Map<string, readonly PathSegment[]>();
  if (host.time?.enabled === false) {
    for (const name of Object.values(TIME_SERVICES).flat()) forbidden.set(name, ['host', 'time', 'enabled']);
  }
  const removed = host.absentNames.flatMap(({ kind, name, field }): readonly Finding[] => {
    const need = kind === 'service' ? needed.get(name.replace(/\.service$/, '')) : undefined;
    const hint = 'remove one of them';
    return need === undefined ? [] : [{ path: ['host', ...field], message: `${name} must run for`, other: need, hint }];
  });
  const kept = host.services.flatMap((service, index): readonly Finding[] => {
    const name = service.name.replace(/\.service$/, '');
    const path = ['host', 'services', service.at ?? index];
    const hint = 'remove one of them: each run would change the service twice';
    const need = needed.get(name);
    if (need !== undefined && keepsDown(service)) {
      return [{ path, message: `${service.name} must run and start at boot for`, other: need, hint }];
    }
    const ban = forbidden.get(name);
    if (ban !== undefined && (service.state === 'Started' || service.enabled === true)) {
      return [{ path, message: `${service.name} keeps the time, which is switched off by`, other: ban, hint }];
    }
    return [];
  });
  return [...removed, ...kept];
}

function keepsDown({ state, enabled, masked }: ServiceModel): boolean {
  return state === 'Stopped' || enabled === false || masked === true;
}

/** Users and groups that the document removes, and names elsewhere; and a service that a section needs. */
function absentNameFindings({ absentNames, users, files, archives, directories }: HostModel): readonly Finding[] {
  const owners = [
    ...files.map(({ user, group, at }, index) => ({ user, group, path: ['host', 'files', at ?? index, 'owner'] })),
    ...archives.map(({ user, group, at }) => ({ user, group, path: ['host', 'files', at, 'owner'] })),
    ...directories.flatMap(({ user, group, recursive, at }, index) => [
      { user, group, path: ['host', 'directories', at ?? index, 'owner'] },
      { user: recursive?.user, group: recursive?.group, path: ['host', 'directories', at ?? index, 'recursive'] },
    ]),
  ];
  const members = users.flatMap(({ primaryGroup, groups, at }, index) =>
    [...groups, primaryGroup].map((group) => ({ user: undefined, group, path: ['host', 'users', at ?? index] })),
  );
  return absentNames.flatMap(({ kind, name, field }): readonly Finding[] => {
    if (kind !== 'user' && kind !== 'group') return [];
    return [...owners, ...members].flatMap((use): readonly Finding[] => {
      if (use[kind] !== name) return [];
      const message = `the ${kind} ${name} is named here, and removed by`;
      return [{ path: use.path, message, other: ['host', ...field], hint: 'keep one of them' }];
    });
  });
}
