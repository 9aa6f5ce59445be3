import { dirname } from 'node:path/posix';
import type { Model } from '@machineadm/document/model.ts';
import { isCriticalPath } from '@machineadm/document/ownership/paths.ts';
import type { Host, ServiceManager } from '../host/seam/host.ts';
import { type Change, type OwnedPlace, owing, type Step, stampOf } from '../steps/step.ts';
import type { RunJournal } from './run-journal.ts';
import type { RunTrace } from './run-trace.ts';

/** Paths that a reboot empties need no record. */
const VOLATILE = '/run/';

type Maker = Pick<Step, 'id' | 'owned'> & Pick<OwnedPlace, 'owes'>;

/**
 * The same host, whose journal records every file, directory and enabled service before a step creates it: `machineadm
 * reset` removes only what machineadm created. What existed before is recorded as such. One record per path in the life
 * of the journal. `trace` records every change, including repeated ones.
 *
 * @param maker `owned`: what it makes where nothing was is removed once no document asks for it; `owes`: what must follow then
 */
export function recordingHost(host: Host, maker: Maker, journal: RunJournal, trace?: RunTrace): Host {
  const step = maker.id;
  const owes = maker.owes === undefined ? {} : { owes: maker.owes };
  type Place = Omit<OwnedPlace, 'step'>;
  const own = (path: string, place: Place): void => journal.append({ is: 'owned', step, path, ...place, ...owes });
  const isOwned = (path: string): boolean => journal.state().owned.has(path);
  const ownParents = async (path: string): Promise<void> => {
    for (let above = dirname(path); !isOwned(above) && !isCriticalPath(above); above = dirname(above)) {
      if ((await host.stat(above)) !== undefined) return;
      own(above, { type: 'directory' });
    }
  };
  const make = async (path: string, place: Place, write: () => Promise<void>): Promise<void> => {
    trace?.touch(step, path);
    if (path.startsWith(VOLATILE)) return await write();
    const { wrote, owned } = journal.state();
    const [isNew, known] = [!wrote.has(path), owned.get(path)];
    // Who owned no more than a block of it does not own what stands around that.
    const isOurs = known !== undefined && (known.type === 'block') === (place.type === 'block');
    const isWatched = maker.owned === true && !isOurs;
    const before = (isNew || isWatched) && (await host.stat(path)) !== undefined ? 'present' : 'absent';
    if (isNew) journal.append({ is: 'wrote', step, path, before });
    if (maker.owned !== true) return await write();
    if (before === 'absent') await ownParents(path);
    // A block is ours wherever it stands, and its marks tell which it is.
    const owns = before === 'absent' || place.type === 'block';
    if (owns) own(path, place);
    await write();
    if (!owns && known !== undefined) journal.append({ is: 'released', step, path });
    const stat = owns && place.type === 'file' ? await host.stat(path) : undefined;
    const stamp = stat === undefined ? undefined : stampOf(stat);
    if (stamp !== undefined) own(path, { ...place, stamp });
  };
  const remove = async (path: string, unlink: () => Promise<void>): Promise<void> => {
    trace?.touch(step, path);
    await unlink();
    if (isOwned(path)) journal.append({ is: 'released', step, path });
  };
  return {
    ...host,
    async writeFile(file) {
      const place: Place = file.block === undefined ? { type: 'file' } : { type: 'block', block: file.block };
      await make(file.path, place, () => host.writeFile(file));
    },
    async writeLink(path, target) {
      await make(path, { type: 'link', target }, () => host.writeLink(path, target));
    },
    async makeDirectory(path, mode) {
      await make(path, { type: 'directory' }, () => host.makeDirectory(path, mode));
    },
    async removeFile(path) {
      await remove(path, () => host.removeFile(path));
    },
    async removeDirectory(path) {
      await remove(path, () => host.removeDirectory(path));
    },
    async chmod(path, mode) {
      trace?.touch(step, path);
      await host.chmod(path, mode);
    },
    async chown(path, uid, gid) {
      trace?.touch(step, path);
      await host.chown(path, uid, gid);
    },
    async writeKernelFile(path, value) {
      trace?.touch(step, path);
      await host.writeKernelFile(path, value);
    },
    async sync(path) {
      // The records must be durable before the files are.
      journal.flush();
      await host.sync(path);
    },
    services: {
      ...tracedServices(host.services, (name) => trace?.touch(step, name)),
      async enable(name) {
        trace?.touch(step, name);
        if (!journal.state().enabled.has(name) && !(await host.service(name)).enabled) {
          journal.append({ is: 'enabled', step, service: name });
        }
        await host.services.enable(name);
      },
    },
  };
}

/** Who makes a change. Ownership is known by inodes, and what is not asked for any more is removed, on Linux. */
export function makerOf({ host }: Model, { id, owned }: Step, change: Pick<Change, 'owes'> = {}): Maker {
  return owned === true && host.platform === 'linux' ? { id, owned, ...owing(change) } : { id };
}

function tracedServices(services: ServiceManager, touch: (name: string) => void): ServiceManager {
  const traced = (act: (name: string) => Promise<void>) => (name: string) => {
    touch(name);
    return act(name);
  };
  return {
    ...services,
    start: traced((name) => services.start(name)),
    stop: traced((name) => services.stop(name)),
    restart: traced((name) => services.restart(name)),
    reloadService: traced((name) => services.reloadService(name)),
    disable: traced((name) => services.disable(name)),
    mask: traced((name) => services.mask(name)),
    unmask: traced((name) => services.unmask(name)),
  };
}
