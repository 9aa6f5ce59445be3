import { readdirSync, readFileSync } from 'node:fs';
import type { LineSource } from '../../../src/diagnosis/catalogue.ts';
import type { ObservedLine } from '../../../src/diagnosis/classify.ts';

/** A kubeadm run captured on a lab machine, with what is known of it. */
export interface Transcript {
  readonly name: string;
  readonly expected: { readonly outcome: 'success' | 'failure'; readonly reason: string; readonly retryable: boolean };
  /** How the failure was provoked. */
  readonly how: string;
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
      const known: Pick<Transcript, 'expected' | 'how'> = JSON.parse(
        readFileSync(new URL(`${name}.json`, DIRECTORY), 'utf8'),
      );
      return { ...known, name, lines: linesOf(readFileSync(new URL(file, DIRECTORY), 'utf8')) };
    });
}

/** Sections start with `-- kubeadm --`, `-- journal: kubelet.service --`, `-- container: etcd --`. */
function linesOf(log: string): readonly ObservedLine[] {
  let source: LineSource = 'kubeadm';
  let origin = 'kubeadm';
  return log.split('\n').flatMap((text): readonly ObservedLine[] => {
    const section = /^-- (kubeadm|journal: (kubelet|containerd)\.service|container: (\S+)) --$/.exec(text);
    if (section !== null) {
      const [, , unit, container] = section;
      source = container !== undefined ? 'container' : unit === 'kubelet' || unit === 'containerd' ? unit : 'kubeadm';
      origin = container !== undefined ? `log of container ${container}` : source;
      return [];
    }
    if (text === '-- No entries --') return [];
    const bySystemd = source !== 'kubeadm' && /^\w{3} [ \d]\d [\d:]{8} \S+ systemd\[\d+\]: /.test(text);
    return [{ source: bySystemd ? 'systemd' : source, origin, text }];
  });
}
