import { stringify } from 'yaml';
import { exitCode } from '../document/exit-codes.ts';
import { leaves } from '../document/index.ts';
import { redactDeep } from '../document/secret.ts';
import { toPlain } from '../document/tree.ts';
import { openDocument } from '../pipeline/load.ts';
import { buildInfo } from './build-info.ts';
import type { DocumentOptions } from './options.ts';
import { printJson, printText } from './output.ts';

/** `machineadm config show`: the merged document; with `--origin`, the source, line and column of each field. */
export async function configShow(options: DocumentOptions & { readonly origin?: true }): Promise<number> {
  const { tree } = await openDocument(options.document, buildInfo().version);
  if (options.origin === true) {
    const fields = leaves(tree).map(({ path, value, at }) => ({
      path,
      value: holdsSecret(path) ? '[redacted]' : value,
      origin: `${at.file}:${at.line}:${at.column}`,
    }));
    if (options.output === 'json') printJson({ fields });
    else {
      const rows = redactDeep(fields).map(({ path, value, origin }) => `${origin}  ${path} = ${JSON.stringify(value)}`);
      printText(rows.join('\n'));
    }
    return exitCode('Success');
  }
  const shown = redactDeep(withoutLiteralSecrets(toPlain(tree)));
  if (options.output === 'json') printJson(shown);
  else printText(stringify(shown));
  return exitCode('Success');
}

/** A secret written under `secrets` may be too short to be found by its value. */
function holdsSecret(path: string): boolean {
  return /^secrets\..*\.value$/.test(path);
}

function withoutLiteralSecrets(document: unknown): unknown {
  if (document === null || typeof document !== 'object' || !('secrets' in document)) return document;
  const { secrets } = document;
  if (secrets === null || typeof secrets !== 'object') return document;
  const hidden = Object.entries(secrets).map(([name, source]: [string, unknown]) => {
    const literal = source !== null && typeof source === 'object' && 'value' in source;
    return [name, literal ? { value: '[redacted]' } : source];
  });
  return { ...document, secrets: Object.fromEntries(hidden) };
}
