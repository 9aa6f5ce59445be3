import type { QueryHost } from '../../host/seam/host.ts';
import { classify } from '../classify.ts';
import { unitLines } from '../unit-lines.ts';
import type { Check } from './check.ts';

/** The kubelet's unit on a machine that is a node. */
export async function checkKubelet(host: QueryHost, now: number): Promise<readonly Check[]> {
  const base = { id: 'node/kubelet', group: 'node' } as const;
  const lines = await unitLines(host, 'kubelet.service', now);
  const { best } = classify(lines);
  const [first] = lines;
  if (best === undefined)
    return [{ ...base, state: 'ok', text: first?.text ?? 'nothing is known of the kubelet service' }];
  const { reason, remedy } = best.entry;
  return [{ ...base, state: 'failed', reason, text: best.line.text, remedy }];
}
