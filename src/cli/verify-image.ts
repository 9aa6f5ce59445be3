import { exitCode } from '@machineadm/document/exit-codes.ts';
import type { Reason } from '@machineadm/document/reasons.ts';
import { openDocument } from '../pipeline/load.ts';
import { type ImageVerdict, verifyImage } from '../pipeline/verify-image.ts';
import { buildInfo } from './build-info.ts';
import type { DocumentOptions } from './options.ts';
import { printData, printReport } from './output.ts';

const REASON: Reason = 'ImageNotReady';

/** `machineadm prepare --verify`: what is not as an image must be. Changes nothing. */
export async function verifyImageCommand({ document, output }: DocumentOptions): Promise<number> {
  const verdict = await verifyImage(await openDocument(document, buildInfo().version));
  const ready = verdict.changes.length + verdict.findings.length === 0;
  if (output !== 'text')
    await printData(output, 'ImageReadiness', { ready, ...(ready ? {} : { reason: REASON }), ...verdict });
  else printReport(ready ? 'the image is ready' : formatVerdict(verdict));
  return exitCode(ready ? 'Success' : 'DifferencesFound');
}

function formatVerdict({ changes, findings }: ImageVerdict): string {
  const lines = [
    ...changes.map(({ id, summary }) => `does not hold: ${summary}  [${id}]`),
    ...findings.map(({ what, why, remedy }) => `${what}: ${why}. ${remedy}`),
  ];
  return [...lines, `the image is not ready: ${lines.length} to correct [${REASON}]`].join('\n');
}
