import { dirname } from 'node:path/posix';
import type { Model } from '@machineadm/document/model/index.ts';
import { isCriticalPath, STATE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import type { Host, ServiceManager } from '../host/seam/host.ts';
import { stampOf } from '../owned-files/owned-places.ts';
import { type Change, type OwnedPlace, owing, type Step } from '../step/index.ts';
import { type PriorStates, priorStates } from './prior-states.ts';
import type { RunJournal } from './run-journal.ts';
import type { RunTrace } from './run-trace.ts';

/** Not owned: directories that a reboot empties, and the files with which a run works. */
const NOT_OWNED = ['/run/', `${STATE_DIRECTORY}/`];

type Maker = Pick<Step, 'id'> & Pick<OwnedPlace, 'owes'> & { readonly owned?: true };

/** Records what is at all paths that the changes of a step write (`Change.writes`), with one write and one flush. */
export async function recordWrites(prior: PriorStates, changes: readonly Change[]): Promise<void> {
  const paths = changes.flatMap(({ writes = [] }) => writes);
  if (paths.length > 0) await prior.before(paths.map((path) => `path:${path}` as const));
}

/**
 * The same host, which records how everything is before a step changes it: what it writes by itself, and what a command
 * says that it changes (`Command.changes`). `machineadm reset` restores that. `trace` records every change, including repeated ones.
 *
 * @param prior of the step, for all its changes
 * @param maker `owned`: what it makes where nothing was is removed once no document asks for it; `owes`: what must follow then
 */
export function recordingHost(
  host: Host,
  maker: Maker,
  journal: RunJournal,
  trace?: RunTrace,
  prior: PriorStates = priorStates(host, maker.id, journal),
): Host {
  const step = maker.id;
  const owes = maker.owes === undefined ? {} : { owes: maker.owes };
  type Place = Omit<OwnedPlace, 'step'>;
  const own = (path: string, place: Place): void => journal.append({ is: 'owned', step, path, ...place, ...owes });
  const isOwned = (path: string): boolean => journal.state().owned.has(path);
  const ownParents = async (path: string): Promise<void> => {
    for (let above = dirname(path); !isOwned(above) && !isCriticalPath(above); above = dirname(above)) {
      if (await prior.isThere(above)) return;
      own(above, { type: 'directory' });
    }
  };
  const change = async (kind: 'path' | 'service', name: string): Promise<void> => {
    trace?.touch(step, name);
    await prior.before([`${kind}:${name}`]);
  };
  const alter = async (kind: 'attributes' | 'kernel', name: string, act: () => Promise<void>): Promise<void> => {
    trace?.touch(step, name);
    await prior.around([`${kind}:${name}`], act);
  };
  const make = async (path: string, place: Place, write: () => Promise<void>): Promise<void> => {
    if (maker.owned !== true || NOT_OWNED.some((ours) => path.startsWith(ours))) return await write();
    const known = journal.state().owned.get(path);
    // Who owned no more than a block of it does not own what stands around that.
    const isOurs = known !== undefined && (known.type === 'block') === (place.type === 'block');
    const isFresh = isOurs || prior.tookAsAbsent(path) || (await host.stat(path)) === undefined;
    if (isFresh) await ownParents(path);
    // A block is ours wherever it stands, and its marks tell which it is.
    const owns = isFresh || place.type === 'block';
    if (owns) own(path, place);
    await write();
    if (!owns && known !== undefined) journal.append({ is: 'released', step, path });
    const stat = owns && place.type === 'file' ? await host.stat(path) : undefined;
    const stamp = stat === undefined ? undefined : stampOf(stat);
    if (stamp !== undefined) own(path, { ...place, stamp });
  };
  const remove = async (path: string, unlink: () => Promise<void>): Promise<void> => {
    await change('path', path);
    await prior.content(path, undefined);
    prior.forgetLooks();
    journal.write();
    await unlink();
    if (isOwned(path)) journal.append({ is: 'released', step, path });
  };
  return {
    ...host,
    async writeFile(file) {
      const { path, content, block } = file;
      await change('path', path);
      await make(path, block === undefined ? { type: 'file' } : { type: 'block', block }, async () => {
        if (typeof content !== 'string' && !(content instanceof Uint8Array)) {
          return await prior.around([`path:${path}`], () => host.writeFile(file));
        }
        await prior.content(path, { ...file, content });
        journal.write();
        await host.writeFile(file);
      });
    },
    async writeLink(path, target) {
      await change('path', path);
      await make(path, { type: 'link', target }, () =>
        prior.around([`path:${path}`], () => host.writeLink(path, target)),
      );
    },
    async makeDirectory(path, mode) {
      trace?.touch(step, path);
      // One that is there stays as it is.
      if ((await host.stat(path)) === undefined) await prior.before([`path:${path}`]);
      await make(path, { type: 'directory' }, async () => {
        journal.write();
        await host.makeDirectory(path, mode);
      });
    },
    async removeFile(path) {
      await remove(path, () => host.removeFile(path));
    },
    async removeDirectory(path) {
      await remove(path, () => host.removeDirectory(path));
    },
    async chmod(path, mode) {
      await alter('attributes', path, () => host.chmod(path, mode));
    },
    async chown(path, uid, gid) {
      await alter('attributes', path, () => host.chown(path, uid, gid));
    },
    async writeKernelFile(path, value) {
      await alter('kernel', path, () => host.writeKernelFile(path, value));
    },
    async run(command) {
      const { changes = [] } = command;
      prior.forgetLooks();
      journal.write();
      return changes.length === 0 ? await host.run(command) : await prior.around(changes, () => host.run(command));
    },
    async sync(path) {
      // The records must be durable before the files are.
      journal.flush();
      await host.sync(path);
    },
    services: recordedServices(host.services, async (verb, name) => {
      await change('service', name);
      prior.mark(`service:${name}`, verb);
      journal.write();
    }),
  };
}

/** Who makes a change. Ownership is known by inodes, and what is not asked for any more is removed, on Linux. */
export function makerOf({ host }: Model, { id, owned }: Step, change: Pick<Change, 'owes'> = {}): Maker {
  return owned !== undefined && host.platform === 'linux' ? { id, owned: true, ...owing(change) } : { id };
}

function recordedServices(
  services: ServiceManager,
  note: (verb: string, name: string) => Promise<void>,
): ServiceManager {
  const recorded = (verb: string, act: (name: string) => Promise<void>) => async (name: string) => {
    await note(verb, name.replace(/\.service$/, ''));
    await act(name);
  };
  return {
    ...services,
    start: recorded('start', (name) => services.start(name)),
    stop: recorded('stop', (name) => services.stop(name)),
    restart: recorded('start', (name) => services.restart(name)),
    reloadService: recorded('reload', (name) => services.reloadService(name)),
    enable: recorded('enable', (name) => services.enable(name)),
    disable: recorded('disable', (name) => services.disable(name)),
    mask: recorded('mask', (name) => services.mask(name)),
    unmask: recorded('unmask', (name) => services.unmask(name)),
  };
}
