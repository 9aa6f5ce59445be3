import type { Host } from '../host/host.ts';
import type { RunJournal } from './run-journal.ts';

/** What a reboot empties needs no memory. */
const VOLATILE = '/run/';

/**
 * The same host, whose journal learns of every file, directory and service at boot that a step brings into being, before
 * it is there: `machineadm reset` takes away what we created, and nothing else. What was there before is remembered as
 * such. One record for each path in the life of the journal.
 */
export function recordingHost(host: Host, step: string, journal: RunJournal): Host {
  const wrote = async (path: string): Promise<void> => {
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
    async makeDirectory(path, mode) {
      await wrote(path);
      await host.makeDirectory(path, mode);
    },
    async sync(path) {
      // Whose files are durable, their records are.
      journal.flush();
      await host.sync(path);
    },
    services: {
      ...host.services,
      async enable(name) {
        if (!journal.state().enabled.has(name) && !(await host.service(name)).enabled) {
          journal.append({ is: 'enabled', step, service: name });
        }
        await host.services.enable(name);
      },
    },
  };
}
