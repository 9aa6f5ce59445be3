import { dirname } from 'node:path/posix';
import {
  ARCHIVES_DIRECTORY,
  HOOKS_DIRECTORY,
  NETWORK_TRIAL,
  PRIOR_STATE_DIRECTORY,
  RUN_DIRECTORY,
  SEALING_KEYS_DIRECTORY,
  STATE_DIRECTORY,
  UPGRADE_DIRECTORY,
} from '@machineadm/document/ownership/paths.ts';
import type { Host, NewFile } from '../host/seam/host.ts';
import { partsOf, type Resource } from '../host/seam/resource.ts';
import { createFingerprints, type Fingerprint, forgetCopies, sha256Of } from '../prior-state/copies.ts';
import { keepContents, markOf, modeAndOwner, stateOf } from '../prior-state/state.ts';
import type { PriorState } from '../step/recorded-state.ts';
import { UNKNOWN } from '../step/recorded-state.ts';
import type { RunJournal } from './run-journal.ts';

/** Paths that other parts of a reset remove: their state is not recorded. */
const UNRECORDED = [
  RUN_DIRECTORY,
  '/run/kubeadm',
  HOOKS_DIRECTORY,
  ARCHIVES_DIRECTORY,
  PRIOR_STATE_DIRECTORY,
  NETWORK_TRIAL,
  SEALING_KEYS_DIRECTORY,
  UPGRADE_DIRECTORY,
].map((path) => `${path}/`);

/** Records how resources were before a step first changes them, for `machineadm reset`. */
export interface PriorStates {
  /** Durable when it returns: call it before the change. A state that is already on record is kept. */
  before(resources: readonly Resource[]): Promise<void>;
  /** Notes what a change is about to make of a file; undefined: it removes it. */
  content(path: string, made: NewFile | undefined): Promise<void>;
  /** Notes what a change is about to do. */
  mark(of: Resource, made: string): void;
  /** Whether a directory exists. An existing one is checked again only after a change that may have removed it. */
  isThere(directory: string): Promise<boolean>;
  /** Whether a path was recorded just now as absent. Answers true once: afterwards the path exists. */
  tookAsAbsent(path: string): boolean;
  /** Forgets what was seen: it may have changed. */
  forgetLooks(): void;
  /** Makes a change whose result is known only afterwards, and notes the result. */
  around<Result>(resources: readonly Resource[], change: () => Result | Promise<Result>): Promise<Result>;
}

/** @param host the machine itself, not the host that records */
export function priorStates(host: Host, step: string, journal: RunJournal): PriorStates {
  let keyed: Promise<Fingerprint> | undefined;
  const fingerprints = (): Promise<Fingerprint> => {
    keyed ??= createFingerprints(host);
    return keyed;
  };
  const directories = new Set<string>();
  const absent = new Set<string>();
  const isThere = async (path: string): Promise<boolean> => {
    if (!directories.has(path) && (await host.stat(path)) !== undefined) directories.add(path);
    return directories.has(path);
  };
  const mark = (of: Resource, made: string): void => {
    if (!isRecorded(of)) return;
    const known = journal.state().after.get(of) ?? [];
    const last = known.at(-1);
    if (last === made || (last !== UNKNOWN && made !== UNKNOWN && known.includes(made))) return;
    journal.append({ is: 'after', of, mark: made });
  };
  const states: PriorStates = {
    mark,
    isThere,
    tookAsAbsent: (path) => absent.delete(path),
    forgetLooks() {
      directories.clear();
      absent.clear();
    },

    async before(resources) {
      const { before, documents } = journal.state();
      const fresh = (await expanded(host, resources, isThere)).filter((of) => !before.has(of));
      if (fresh.length === 0) return;
      // Copies without a record are those of another machine, or of a run that was killed before its first change. A run
      // that recorded what its document asks for removed them before.
      const isRecorded = [...documents.values()].some(({ asked }) => asked !== undefined);
      if (before.size === 0 && !isRecorded) await forgetCopies(host);
      const fingerprint = fresh.some(hasContent) ? await fingerprints() : (sha256: string) => sha256;
      const found: (readonly [Resource, PriorState])[] = [];
      for (const of of fresh) {
        const was = await keepContents(host, of, await stateOf(host, of, fingerprint), fingerprint);
        if (was === null && of.startsWith('path:')) absent.add(of.slice('path:'.length));
        found.push([of, was]);
      }
      if (found.some(([, was]) => was?.is === 'file' || was?.is === 'user')) await host.sync(PRIOR_STATE_DIRECTORY);
      // Another change of the same group may have recorded it meanwhile.
      for (const [of, was] of found) if (!before.has(of)) journal.append({ is: 'before', v: 2, step, of, was });
      journal.flush();
    },

    async content(path, made) {
      if (!isRecorded(`path:${path}`)) return;
      const { content = '', mode = 0, uid = 0, gid = 0 } = made ?? {};
      const fingerprint = (await fingerprints())(sha256Of(content));
      mark(`path:${path}`, made === undefined ? 'absent' : `${fingerprint} ${modeAndOwner({ mode, uid, gid })}`);
    },

    async around(resources, change) {
      await states.before(resources);
      // Only the command knows what it does to a service.
      const marked = (await expanded(host, resources, isThere)).filter(isRecorded);
      for (const of of marked) mark(of, UNKNOWN);
      journal.write();
      try {
        return await change();
      } finally {
        const fingerprint = marked.some(hasContent) ? await fingerprints() : (sha256: string) => sha256;
        const trees = await expanded(
          host,
          resources.filter((of) => of.startsWith('tree:')),
          isThere,
        );
        const made = trees.filter((of) => !journal.state().before.has(of));
        for (const of of made) journal.append({ is: 'before', v: 2, step, of, was: null });
        for (const of of [...marked, ...made]) {
          if (!of.startsWith('service:')) mark(of, markOf(await stateOf(host, of, fingerprint)));
        }
      }
    },
  };
  return states;
}

/** Whether its state holds fingerprints. */
function hasContent(resource: Resource): boolean {
  return /^(?:path|user):/.test(resource);
}

function isRecorded(resource: Resource): boolean {
  const { kind, name } = partsOf(resource);
  return kind !== 'path' || (name !== STATE_DIRECTORY && !UNRECORDED.some((ours) => `${name}/`.startsWith(ours)));
}

/** Directories that will be made above a path come first; whole trees are listed as their paths. */
async function expanded(
  host: Host,
  resources: readonly Resource[],
  isThere: PriorStates['isThere'],
): Promise<readonly Resource[]> {
  const all = new Set<Resource>();
  const add = async (path: string): Promise<void> => {
    if (all.has(`path:${path}`) || !isRecorded(`path:${path}`)) return;
    const parent = dirname(path);
    if (parent !== path && !all.has(`path:${parent}`) && !(await isThere(parent))) await add(parent);
    all.add(`path:${path}`);
  };
  const addTree = async (path: string): Promise<void> => {
    await add(path);
    if ((await host.stat(path))?.type !== 'directory') return;
    for (const name of (await host.list(path)) ?? []) await addTree(`${path}/${name}`);
  };
  for (const resource of resources) {
    const { kind, name } = partsOf(resource);
    if (kind === 'path') await add(name);
    else if (kind === 'tree') await addTree(name);
    else if (kind === 'kernel') for (const path of await alsoChanged(host, name)) all.add(`kernel:${path}`);
    else all.add(resource);
  }
  return [...all];
}

/**
 * A kernel setting with those that the kernel changes with it: turning forwarding on or off sets it for every interface and
 * flips accept_redirects (Linux net/ipv4/devinet.c, inet_forward_change; net/ipv6/addrconf.c), and what is written to
 * `default`, for IPv6 also to `all`, is copied to the interfaces.
 */
async function alsoChanged(host: Host, path: string): Promise<readonly string[]> {
  const isForwarding = /^\/proc\/sys\/net\/ipv4\/(?:ip_forward|conf\/all\/forwarding)$/.test(path);
  const [, directory, leaf] = isForwarding
    ? ['', '/proc/sys/net/ipv4/conf', 'forwarding']
    : (/^(\/proc\/sys\/net\/ipv[46]\/conf)\/(?:all|default)\/([^/]+)$/.exec(path) ?? []);
  if (directory === undefined) return [path];
  const perInterface = ((await host.list(directory)) ?? []).map((name) => `${directory}/${name}/${leaf}`);
  const more = isForwarding ? [`${directory}/all/accept_redirects`] : [];
  return [path, ...perInterface.filter((other) => other !== path), ...more];
}
