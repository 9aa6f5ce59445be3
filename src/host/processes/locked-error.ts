import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';

/** Error `Locked`: the process that holds the lock, where it is known, has the right to change this machine. */
export function lockedError(path: string, pid: number | string | undefined): MachineadmError {
  const holder = pid === undefined ? 'another process' : `process ${pid}`;
  return new MachineadmError({
    reason: 'Locked',
    summary: `another machineadm run is active on this machine: ${holder} holds ${path}`,
    remedy:
      'Wait for it to end ("machineadm status"), or end it if it is stuck; the lock is free as soon as it is gone.',
    evidence: [{ source: path, text: `used by ${holder}` }],
    retryable: true,
  });
}
