/** In place of `src/host/processes/lock.ts`. */
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Lock } from '../../../src/host/processes/lock.ts';
import { currentMachine } from './current.ts';

export async function acquireLock(path: string, _patienceMs = 0): Promise<Lock> {
  const { locks } = currentMachine();
  if (locks.has(path))
    throw new MachineadmError({ reason: 'Locked', summary: `another process holds ${path}`, remedy: 'Wait.' });
  locks.add(path);
  return {
    path,
    release() {
      locks.delete(path);
    },
  };
}
