import { classify } from '@machineadm/failures/classify.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { unitLines } from '../unit-lines.ts';
import type { Finding } from './finding.ts';

/** Checks the kubelet's unit on a node. */
export async function checkKubelet(host: QueryHost, now: number): Promise<readonly Finding[]> {
  const base = { id: 'node/kubelet', title: 'node' } as const;
  const lines = await unitLines(host, 'kubelet.service', now);
  const { best } = classify(lines);
  const [first] = lines;
  if (best === undefined)
    return [{ ...base, severity: 'passed', text: first?.text ?? 'the state of the kubelet service is not known' }];
  const { reason, remedy } = best.entry;
  return [{ ...base, severity: 'failed', reason, text: best.line.text, remedy }];
}
