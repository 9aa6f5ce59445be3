import { readdirSync, readFileSync } from 'node:fs';
import type { ObservedLine } from '@machineadm/failures/classify.ts';
import { readSavedLog } from '@machineadm/failures/saved-log.ts';

/** A kubeadm run captured on a lab machine, with what is known of it. */
export interface Transcript {
  readonly name: string;
  readonly expected: { readonly outcome: 'success' | 'failure'; readonly reason: string; readonly retryable: boolean };
  /** The true cause, where more than the log must be known to name it. */
  readonly cause?: string;
  /** How the failure was provoked. */
  readonly how: string;
  /**
   * Names that are right, too, for one who sees only a part of the log: the area where the whole log tells the cause.
   */
  readonly lesserReasons?: readonly string[];
  /** The whole log: `-- kubeadm --`, `-- journal: kubelet.service --`, `-- container: etcd --` and what was said there. */
  readonly log: string;
  readonly lines: readonly ObservedLine[];
}

/** The directory of the runs of a release of Kubernetes. */
const DIRECTORIES = {
  '1.20': new URL('../../fixtures/transcripts/', import.meta.url),
  '1.36': new URL('../../fixtures/transcripts-1.36/', import.meta.url),
};

export const RELEASES = ['1.20', '1.36'] as const;

/** All captured runs of a release, in the order of their numbers. */
export function capturedTranscripts(release: (typeof RELEASES)[number] = '1.20'): readonly Transcript[] {
  const directory = DIRECTORIES[release];
  return readdirSync(directory)
    .filter((name) => name.endsWith('.log'))
    .sort()
    .map((file) => {
      const name = file.slice(0, -'.log'.length);
      const known: Pick<Transcript, 'expected' | 'cause' | 'how' | 'lesserReasons'> = JSON.parse(
        readFileSync(new URL(`${name}.json`, directory), 'utf8'),
      );
      const log = readFileSync(new URL(file, directory), 'utf8');
      return { ...known, name, log, lines: readSavedLog(log) };
    });
}
