import { join } from 'node:path';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import editorSchema from '../../../contract/editor/v1alpha1.json' with { type: 'json' };
import { printNotice, printText } from '../../cli/output.ts';
import { readPieces } from '../../host/local-files/input-file.ts';
import { writeOutputFiles } from '../../host/local-files/output-file.ts';

/** The name that the first line of `machineadm example` gives to the schema beside the document. */
const SCHEMA_FILE = 'machineadm.schema.json';

/** How much of an existing file is read to see whether it is a schema of machineadm: its `$id` stands at the beginning. */
const BEGINNING = 512;

/**
 * `machineadm schema --editor DIRECTORY`: writes the schema for editors beside documents, and prints the line that names it
 * in a document. A schema of another machineadm is replaced; another file of that name is refused with `FileNotWritten`.
 */
export function writeEditorSchema(directory: string): number {
  const path = join(directory, SCHEMA_FILE);
  const found = beginningOf(path);
  if (found !== undefined && !found.includes('"$id": "https://machineadm.dev/schema/editor/'))
    throw new MachineadmError({
      reason: 'FileNotWritten',
      summary: `${path} exists already, and is not a schema of machineadm`,
      remedy: 'Move it, or give another directory with --editor.',
      exit: 'Refused',
    });
  const content = `${JSON.stringify(editorSchema, undefined, 2)}\n`;
  writeOutputFiles(directory, [{ names: [SCHEMA_FILE], content }], { replace: true, option: '--editor' });
  printNotice(`wrote ${path}; the first line of a document beside it is:`);
  printText(`# yaml-language-server: $schema=${SCHEMA_FILE}`);
  return exitCode('Success');
}

function beginningOf(path: string): string | undefined {
  try {
    for (const piece of readPieces(path)) return new TextDecoder().decode(piece.subarray(0, BEGINNING));
    return '';
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
