import type { Host, ServiceManager } from '../host/seam/host.ts';
import type { RunJournal } from './run-journal.ts';
import type { RunTrace } from './run-trace.ts';

/** Paths that a reboot empties need no record. */
const VOLATILE = '/run/';

/**
 * The same host, whose journal records every file, directory and enabled service before a step creates it: `machineadm
 * reset` removes only what machineadm created. What existed before is recorded as such. One record per path in the life
 * of the journal. `trace` records every change, including repeated ones.
 */
export function recordingHost(host: Host, step: string, journal: RunJournal, trace?: RunTrace): Host {
  const wrote = async (path: string): Promise<void> => {
    trace?.touch(step, path);
    if (path.startsWith(VOLATILE) || journal.state().wrote.has(path)) return;
    const before = (await host.stat(path)) === undefined ? 'absent' : 'present';
    journal.append({ is: 'wrote', step, path, before });
  };
  return {
    ...host,
    async writeFile(file) {
      await wrote(file.path);
      await host.writeFile(file);
    },
    async writeLink(path, target) {
      await wrote(path);
      await host.writeLink(path, target);
    },
    async makeDirectory(path, mode) {
      await wrote(path);
      await host.makeDirectory(path, mode);
    },
    async removeFile(path) {
      trace?.touch(step, path);
      await host.removeFile(path);
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
    disable: traced((name) => services.disable(name)),
    mask: traced((name) => services.mask(name)),
    unmask: traced((name) => services.unmask(name)),
  };
}
