import { dirname } from 'node:path/posix';
import type { Model } from '@machineadm/document/model.ts';
import { canonicalPath } from '@machineadm/document/ownership/collisions.ts';
import { type DocumentName, dropInPath } from '@machineadm/document/ownership/drop-ins.ts';
import {
  authorizedKeysPath,
  CONTAINERD_CONFIGURATION,
  ENVIRONMENT_FILE,
  FSTAB,
  HOSTNAME_FILE,
  HOSTS_FILE,
  isCriticalPath,
  sudoersPath,
  unitDropInPath,
  usualHome,
} from '@machineadm/document/ownership/paths.ts';
import type { StepId } from '@machineadm/document/step-ids.ts';
import { readAccounts } from '../../accounts/databases.ts';
import { withSwap } from '../../block-devices/swap-lines.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { partsOf, type Resource } from '../../host/seam/resource.ts';
import {
  HOSTS_BLOCK,
  hostsBlockOf,
  OWN_NAME_BLOCK,
  PROXY_BLOCK,
  rewriteShared,
  withoutBlock,
} from '../../owned-files/marked-block.ts';
import type { ResetAction } from '../../prior-state/action.ts';
import type { FollowUp } from '../../step/index.ts';
import type { BeforeRecord, Memory } from '../../step/memory.ts';
import { isAt, setBy } from '../../step/wants.ts';
import { planUndo } from '../restore.ts';
import { type Dropped, namedIn, staysOf } from './stays.ts';
import { followUpsOf } from './unit-files.ts';

type IsRequested = (model: Model, name: string, kind: string) => boolean;

const STAYS: IsRequested = () => true;

/**
 * Whether a document still requests a resource, by the step that changed it first. For all other steps, the section that
 * the step is named after decides (`hasSection`); without such a section the resource stays, and `staysOf` says why.
 */
const REQUESTED: Readonly<Record<string, IsRequested>> = {
  hostname: STAYS,
  groups: STAYS,
  'active-directory': STAYS,
  selinux: ({ host }) => host.selinux?.mode !== undefined,
  'kernel-modules': (model, name, kind) =>
    kind === 'module' || (model.host.kernelModules.length > 0 && isAt(dropInPath('modules', model), name)),
  apparmor: ({ host }, name) => host.apparmor?.profiles.some(({ path }) => isAt(path, name)) === true,
  sysctl: (model, name, kind) =>
    kind === 'path'
      ? model.host.sysctl.length > 0 && isAt(dropInPath('sysctl', model), name)
      : model.host.sysctl.some(({ key }) => setBy(key).test(name)),
  limits: (model, name) =>
    model.host.limits !== undefined &&
    (['serviceLimits', 'sessionLimits'] as const).some((kind) => isAt(dropInPath(kind, model), name)),
  swap: ({ host, kubernetes }) => host.swap === 'Disabled' || kubernetes !== undefined,
  users: requestsUser,
  directories: requestsPath,
  files: requestsPath,
  archives: requestsPath,
  links: requestsPath,
  services: ({ host, containerd, kubernetes }, name, kind) =>
    kind === 'path'
      ? host.services.some(({ name: of, dropIns }) => dropIns.some((one) => isAt(unitDropInPath(of, one.name), name)))
      : namedIn(host, 'service', host.services).includes(name) ||
        (name === 'containerd' && containerd !== undefined) ||
        (name === 'kubelet' && kubernetes !== undefined),
  'directory-logins': ({ host }) => host.activeDirectory?.logins !== undefined,
  containerd: ({ containerd, kubernetes }) => containerd !== undefined || kubernetes !== undefined,
};

/**
 * Whether the document has the section of `host` that a step is named after, as `kernel-modules` is after `kernelModules`.
 * undefined: no section has this name.
 */
export function hasSection({ host }: Model, step: string): boolean | undefined {
  const field = step.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  if (!Object.hasOwn(host, field)) return undefined;
  const section: unknown = Reflect.get(host, field);
  return Array.isArray(section) ? section.length > 0 : section !== undefined;
}

/** The account of a user stays; its rule for sudo and its keys go with the user. */
function requestsUser({ host }: Model, name: string, kind: string): boolean {
  const users = namedIn(host, 'user', host.users);
  if (kind === 'user') return users.includes(name);
  if (kind !== 'path') return true;
  const homes = [...users.map(usualHome), ...host.users.flatMap(({ home }) => home ?? [])];
  const keys = homes.map(authorizedKeysPath);
  const isOfUser = /^\/etc\/sudoers\.d\/|\/\.ssh(?:\/authorized_keys)?$/.test(name);
  const wanted = [...users.map(sudoersPath), ...keys, ...keys.map((path) => dirname(path))];
  return !isOfUser || wanted.includes(name);
}

function requestsPath(model: Model, name: string, kind: string): boolean {
  const { archives, directories } = model.host;
  const trees = kind === 'attributes' ? [...archives, ...directories] : archives;
  const path = canonicalPath(name);
  return namedPaths(model).has(path) || trees.some((tree) => isAt(path, canonicalPath(tree.path)));
}

const named = new WeakMap<Model, ReadonlySet<string>>();

/** What a document names, and the directories above: a directory is asked for where something in it is. Kept, as it is asked for each file. */
function namedPaths(model: Model): ReadonlySet<string> {
  const known = named.get(model);
  if (known !== undefined) return known;
  const paths = new Set<string>();
  const { archives, directories, files, links } = model.host;
  for (const { path } of [...files, ...directories, ...links, ...archives])
    for (let at = canonicalPath(path); !paths.has(at); at = dirname(at)) paths.add(at);
  named.set(model, paths);
  return paths;
}

/** Lines of a document in files that others share, and the file without them. */
export const SHARED_LINES: readonly {
  readonly path: string;
  /** The step that writes them. */
  readonly step: StepId;
  readonly isAsked: (model: Model) => boolean;
  /** Whether all documents that ask for them share the same lines. */
  readonly isOne: boolean;
  readonly without: (text: string, memory: Memory, document: DocumentName) => string;
}[] = [
  {
    path: HOSTS_FILE,
    step: 'hosts',
    isAsked: ({ host }) => host.hosts !== undefined,
    isOne: false,
    without(text, memory, document) {
      let rest = withoutBlock(text, hostsBlockOf(document));
      if (memory.isAdopted) rest = withoutBlock(rest, HOSTS_BLOCK);
      return isNamed(memory) || memory.others('hosts:own name', 'hosts') ? rest : withoutBlock(rest, OWN_NAME_BLOCK);
    },
  },
  {
    path: ENVIRONMENT_FILE,
    step: 'proxy',
    isAsked: ({ host }) => host.proxy !== undefined,
    isOne: true,
    without: (text) => withoutBlock(text, PROXY_BLOCK),
  },
  {
    path: FSTAB,
    step: 'swap',
    isAsked: (model) => REQUESTED.swap?.(model, '', '') === true,
    isOne: true,
    without: withSwap,
  },
];

/** The lines that a document no longer asks for, as far as the journal knows. */
export function droppedLines(model: Model | undefined, memory: Memory): typeof SHARED_LINES {
  if (model?.host.prune === 'Never') return [];
  return SHARED_LINES.filter(
    ({ step, isAsked, isOne }) =>
      memory.acted.has(step) &&
      !(model !== undefined && isAsked(model)) &&
      // Whether another document has the section at all.
      !(isOne && memory.others('hosts:', step)),
  );
}

/** Whether machineadm gave the machine its name. */
function isNamed({ before }: Memory): boolean {
  return before.get(`path:${HOSTNAME_FILE}`)?.step === 'hostname';
}

/** What earlier runs of the document changed, and it does not ask for any more, as far as it shows that itself. */
export function droppedResources(model: Model, memory: Memory): Memory['before'] {
  if (model.host.prune === 'Never') return new Map();
  const isAsked = (of: Resource, { step, was }: BeforeRecord): boolean => {
    const { kind, name } = partsOf(of);
    // What nothing can do without stays, and so do the files of a user.
    const isCritical = kind === 'path' && (was === null || was.is === 'directory') && isCriticalPath(name);
    if (isCritical || (kind === 'user' && was === null)) return true;
    if (step === 'hosts' && isNamed(memory)) return model.host.hosts !== undefined || name !== HOSTS_FILE;
    return REQUESTED[step]?.(model, name, kind) ?? hasSection(model, step) ?? true;
  };
  // Of what earlier versions recorded, nobody knows what was made of it: only a reset restores that.
  const isKnown = (of: Resource, { isMarked }: BeforeRecord): boolean => isMarked || memory.after.has(of);
  return new Map(
    [...memory.before].filter(
      ([of, before]) => isKnown(of, before) && !isAsked(of, before) && !memory.others(of, before.step),
    ),
  );
}

/**
 * How all that becomes again what it was before the first run, by what a reset does; and what stays.
 *
 * @param isClaimed whether something else in the document asks for a path
 */
export async function planDropped(
  host: QueryHost,
  model: Model,
  memory: Memory,
  isClaimed: (path: string) => Promise<boolean>,
): Promise<readonly Dropped[]> {
  if (model.host.prune === 'Never') return [];
  const restored = new Map(droppedResources(model, memory));
  for (const of of [...restored.keys()]) {
    const { kind, name } = partsOf(of);
    if ((kind === 'path' || kind === 'attributes') && (await isClaimed(name))) restored.delete(of);
  }
  // A mount that stays needs its line in fstab at the next boot, and a host name that stays needs its line in the hosts file.
  if (isNamed(memory) && memory.before.get(`path:${HOSTS_FILE}`)?.step === 'hosts')
    restored.delete(`path:${HOSTS_FILE}`);
  if ([...memory.before.values()].some(({ step }) => step === 'mounts')) restored.delete(`path:${FSTAB}`);
  const undone = await planUndo(host, memory, restored);
  const lines: Dropped[] = [];
  for (const { path, without } of droppedLines(model, memory)) {
    const resource = `path:${path}` as const;
    const isWhole = undone.some((action) => action.resource === resource && action.perform !== undefined);
    if (isWhole) continue;
    const text = (await host.readText(path)) ?? '';
    if (without(text, memory, model) === text) continue;
    lines.push({
      id: `removals/lines${path}`,
      summary: `${path}: remove the lines of machineadm, which are no longer in the document`,
      perform: (changing) => rewriteShared(changing, path, (now) => without(now, memory, model)),
      ...(restored.has(resource) && { restores: resource }),
      owes: owedFor(model, memory, resource),
    });
  }
  const found: Dropped[] = [];
  for (const [index, { resource, summary, perform, isFull }] of undone.entries()) {
    if (isFull === true) continue;
    const last = found.at(-1);
    if (summary === undefined) {
      // It completes the one before it.
      if (last !== undefined && perform !== undefined) found.splice(-1, 1, withMore(last, perform));
    } else if (perform !== undefined) {
      // A service may take more than one action.
      const isLast = !undone.slice(index + 1).some((other) => other.resource === resource);
      found.push({
        id: `removals/${summary.replaceAll(' ', '/')}`,
        summary: `${summary}: the document no longer has it`,
        perform,
        ...(isLast && { restores: resource }),
        owes: resource === undefined ? [] : owedFor(model, memory, resource),
      });
    } else if (!lines.some(({ restores }) => restores !== undefined && restores === resource)) {
      found.push({ id: `removals/leave/${resource ?? summary}`, summary: `no longer in the document: ${summary}` });
    }
  }
  return [...lines, ...found, ...staysOf(model, memory)];
}

function withMore(last: Dropped, more: NonNullable<ResetAction['perform']>): Dropped {
  const perform: ResetAction['perform'] = async (host, signal) => {
    await last.perform?.(host, signal);
    await more(host, signal);
  };
  return { ...last, perform };
}

/** What must follow, in the words of the steps that are still there to do it. */
function owedFor(model: Model, { before, everOwed }: Memory, of: Resource): readonly FollowUp[] {
  const { kind, name } = partsOf(of);
  if (kind !== 'path') return [];
  const step = before.get(of)?.step ?? '';
  const byPath = /^(?:files|directories|links)$/.test(step);
  if (name === CONTAINERD_CONFIGURATION) return ['restart:containerd.service'];
  const ever = byPath ? everOwed.get(step === 'files' ? `files/${name}` : `${step}${name}`) : everOwed.get(step);
  const owed = [...(step === 'services' ? [] : (ever ?? []))].map((followUp): FollowUp => {
    const [, service] = /^restart:([^.]+)$/.exec(followUp) ?? [];
    const isSettled = service === undefined || (service === 'containerd' && model.containerd !== undefined);
    return isSettled ? followUp : `restart:${service}.service`;
  });
  return [...new Set([...followUpsOf(name, model.host.services), ...owed])];
}

/** Tells whether the document asks for a path, by any name: a directory may be a link to another. Looked up when first asked. */
export function claimed(host: QueryHost, model: Model): (path: string) => Promise<boolean> {
  let known: Promise<ReadonlySet<string>> | undefined;
  return async (path) => {
    known ??= claimedPaths(host, model);
    const all = [...(await known)];
    const names = [canonicalPath(path), await host.realPath(canonicalPath(path))];
    return all.some((other) => names.some((name) => isAt(other, name)));
  };
}

async function claimedPaths(host: QueryHost, model: Model): Promise<ReadonlySet<string>> {
  // Loaded here: it brings the schema library, which commands that read no document do without.
  const { claimsOf } = await import('@machineadm/document/ownership/claims.ts');
  const claims = claimsOf(model).filter(({ step }) => step !== 'removals');
  const { users } = await readAccounts(host);
  const homes = model.host.users.flatMap(({ name }) => users.get(name)?.home ?? []);
  const all = new Set<string>();
  for (const path of [...claims.map((claim) => claim.path), ...homes.map(authorizedKeysPath)])
    all.add(canonicalPath(path)).add(await host.realPath(canonicalPath(path)));
  return all;
}
