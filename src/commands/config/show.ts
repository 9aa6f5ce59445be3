import { formatPlace, formatReplacedPart, replacedPartRecord } from '@machineadm/document/diagnostics/index.ts';
import { leaves } from '@machineadm/document/index.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { redactDeep } from '@machineadm/document/redaction/process-redactor.ts';
import { REDACTED } from '@machineadm/document/redaction/redactor.ts';
import { sensitiveTexts, withoutSensitiveTexts } from '@machineadm/document/redaction/sensitive.ts';
import { toPlain } from '@machineadm/document/trees/tree.ts';
import { VERBATIM_TAG } from '@machineadm/document/values/verbatim.ts';
import { stringify } from 'yaml';
import { buildInfo } from '../../cli/build-info.ts';
import type { DocumentOptions } from '../../cli/options.ts';
import { printData, printObject, printText } from '../../cli/output.ts';
import { openDocument } from '../../pipeline/load.ts';

/** `machineadm config show`: prints the merged document; `--origin` adds the source, line and column of each field. */
export async function configShow(options: DocumentOptions & { readonly origin?: true }): Promise<number> {
  const { tree, replaced } = await openDocument(options.document, buildInfo().version);
  const document = toPlain(tree);
  if (options.origin === true) {
    const hidden = new Set(sensitiveTexts(document).map(({ path }) => path));
    const fields = leaves(tree).map(({ path, value, at }) => ({
      path,
      value: hidden.has(path) ? REDACTED : value,
      origin: formatPlace(at),
    }));
    if (options.output !== 'text') {
      await printData(options.output, 'DocumentOrigins', { fields, replaced: replaced.map(replacedPartRecord) });
    } else {
      const rows = redactDeep(fields).map(({ path, value, origin }) => `${origin}  ${path} = ${JSON.stringify(value)}`);
      printText([...rows, ...replaced.map(formatReplacedPart)].join('\n'));
    }
    return exitCode('Success');
  }
  const shown = redactDeep(withoutSensitiveTexts(document, REDACTED));
  if (options.output !== 'text' && options.output !== 'yaml') await printObject(options.output, Object(shown));
  else printText(stringify(shown, { customTags: [VERBATIM_TAG] }));
  return exitCode('Success');
}
