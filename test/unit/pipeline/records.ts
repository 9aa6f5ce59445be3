import type { InstanceIdentity, JournalRecord } from '../../../src/pipeline/journal-record.ts';

export const MACHINE_A = 'a'.repeat(32);
export const MACHINE_B = 'b'.repeat(32);
export const AT = '2026-11-20T10:00:00.000Z';

export function identity(different: Partial<InstanceIdentity> = {}): InstanceIdentity {
  return { uid: undefined, cloudInstanceId: undefined, machineId: MACHINE_A, ...different };
}

/** The records a test is about, after the first line. */
export function lines(records: readonly JournalRecord[], first: Partial<InstanceIdentity> = {}, foreign = false) {
  const instance: JournalRecord = { is: 'instance', identity: identity(first), foreign, at: AT };
  return [instance, ...records].map((record) => JSON.stringify(record));
}

export function begun(run: string, different: { command?: 'provision' | 'prepare'; lasting?: string } = {}) {
  const { command = 'provision', lasting = 'sha-of-kubernetes' } = different;
  const record: JournalRecord = {
    is: 'run',
    run,
    command,
    agent: '0.1.0',
    document: 'sha',
    lasting,
    bootId: 'boot-1',
    at: AT,
  };
  return record;
}

export function ended(run: string, outcome = 'Succeeded', code = 0): JournalRecord {
  return { is: 'concluded', run, outcome, exitCode: code, reason: undefined, at: AT };
}

export const started = (step: string, change: string): JournalRecord => ({ is: 'started', step, change });
export const done = (step: string, change: string, undoes?: readonly string[]): JournalRecord => ({
  is: 'done',
  step,
  change,
  ...(undoes === undefined ? {} : { undoes }),
});

/** A whole provision up to the proof that the node works, without its conclusion. */
export function bootstrapped(run: string, lasting?: string): JournalRecord[] {
  return [
    begun(run, lasting === undefined ? {} : { lasting }),
    started('kubeadm', 'kubeadm/init'),
    done('kubeadm', 'kubeadm/init'),
    { is: 'note', step: 'sentinel', change: 'sentinel/file', note: { path: '/run/sentinel' } },
  ];
}
