import { readdirSync, readFileSync } from 'node:fs';
import type { ObservedLine } from '@machineadm/failures/classify.ts';
import { readSavedLog } from '@machineadm/failures/saved-log.ts';

/** A kubeadm run captured on a lab machine, with what is known of it. */
export interface Transcript {
  readonly name: string;
  readonly expected: { readonly outcome: 'success' | 'failure'; readonly reason: string; readonly retryable: boolean };
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

const DIRECTORY = new URL('../../fixtures/transcripts/', import.meta.url);

/** All captured runs, in the order of their numbers. */
export function capturedTranscripts(): readonly Transcript[] {
  return readdirSync(DIRECTORY)
    .filter((name) => name.endsWith('.log'))
    .sort()
    .map((file) => {
      const name = file.slice(0, -'.log'.length);
      const known: Pick<Transcript, 'expected' | 'how' | 'lesserReasons'> = JSON.parse(
        readFileSync(new URL(`${name}.json`, DIRECTORY), 'utf8'),
      );
      const log = readFileSync(new URL(file, DIRECTORY), 'utf8');
      return { ...known, name, log, lines: readSavedLog(log) };
    });
}
