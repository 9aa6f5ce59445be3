import {
  diagnosticRecord,
  formatDiagnostic,
  formatReplacedPart,
  formatWarning,
  replacedPartRecord,
} from '@machineadm/document/diagnostics/index.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { buildInfo } from '../../cli/build-info.ts';
import type { DocumentOptions } from '../../cli/options.ts';
import { printData, printReport } from '../../cli/output.ts';
import { DocumentError, openDocument } from '../../pipeline/load.ts';

/**
 * `machineadm validate`: lists every mistake of a document; for a document without mistakes, what is allowed but
 * harmful, and what only its machine can decide. The list is the result, so it goes to standard output. Only mistakes
 * change the exit code.
 */
export async function validate({ document, output }: DocumentOptions): Promise<number> {
  try {
    const loaded = await openDocument(document, buildInfo().version);
    const { apiVersion, digest, warnings, unresolved, replaced } = loaded;
    if (output !== 'text') {
      const parts = replaced.map(replacedPartRecord);
      const found = { problems: [], warnings: warnings.map(diagnosticRecord), unresolved, replaced: parts };
      await printData(output, 'Validation', { valid: true, documentVersion: apiVersion, sha256: digest, ...found });
    } else {
      const left = unresolved.map((path) => `not checked: ${path}: depends on a variable of the machine`);
      const verdict = `valid: ${document.join(', ')} (${apiVersion}, sha256 ${digest.slice(0, 12)}…)`;
      printReport([...warnings.map(formatWarning), ...replaced.map(formatReplacedPart), ...left, verdict].join('\n'));
    }
    return exitCode('Success');
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    if (output !== 'text') {
      const problems = error.problems.map(diagnosticRecord);
      await printData(output, 'Validation', { valid: false, reason: error.reason, problems, warnings: [] });
    } else printReport([...error.problems.map(formatDiagnostic), `${error.message} [${error.reason}]`].join('\n'));
    return exitCode(error.exit);
  }
}
