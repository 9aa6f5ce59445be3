import type { Reason } from '@machineadm/document/reasons.ts';
import { buildInfo } from '../../cli/build-info.ts';
import { printCheckReport } from '../../cli/findings.ts';
import type { DocumentOptions } from '../../cli/options.ts';
import { openDocument } from '../../pipeline/load.ts';
import { verifyImage } from './verify.ts';

const REASON: Reason = 'ImageNotReady';

/** `machineadm prepare --verify`: lists what an image lacks. Changes nothing. */
export async function verifyImageCommand({ document, output }: DocumentOptions): Promise<number> {
  const { changes, findings } = await verifyImage(await openDocument(document, buildInfo().version));
  const ready = findings.length === 0;
  return await printCheckReport(output, {
    kind: 'ImageReadiness',
    name: 'machineadm prepare --verify',
    findings,
    data: {
      ready,
      ...(ready ? {} : { reason: REASON }),
      changes,
      // The fields also appear under the names they had first.
      findings: findings.map((finding) => ({ ...finding, what: finding.id, why: finding.text })),
    },
    verdict: ready ? 'the image is ready' : 'the image is not ready',
    ...(ready ? {} : { reason: REASON }),
    exit: ready ? 'Success' : 'DifferencesFound',
  });
}
