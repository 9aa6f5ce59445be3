import { exitCode } from '../document/exit-codes.ts';
import { formatDiagnostic } from '../document/index.ts';
import { DocumentError, openDocument } from '../pipeline/load.ts';
import { buildInfo } from './build-info.ts';
import type { DocumentOptions } from './options.ts';
import { printJson, printText } from './output.ts';

/** `machineadm validate`: every mistake of a document. The mistakes are the data, so they go to standard output. */
export async function validate({ document, output }: DocumentOptions): Promise<number> {
  try {
    const { apiVersion, digest } = await openDocument(document, buildInfo().version);
    if (output === 'json') printJson({ valid: true, apiVersion, sha256: digest, problems: [] });
    else printText(`valid: ${document.join(', ')} (${apiVersion}, sha256 ${digest.slice(0, 12)}…)`);
    return exitCode('Success');
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    if (output === 'json') printJson({ valid: false, reason: error.reason, problems: error.problems.map(toJson) });
    else printText([...error.problems.map(formatDiagnostic), `${error.message} [${error.reason}]`].join('\n'));
    return exitCode(error.exit);
  }
}

function toJson({ place, path, message, hint }: DocumentError['problems'][number]): object {
  return { ...place, path, message, ...(hint === undefined ? {} : { hint }) };
}
