import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { jsonSchema } from '@machineadm/document/versions/json-schema.ts';
import event from '../../../contract/event.v1.schema.json' with { type: 'json' };
import status from '../../../contract/status.v1.schema.json' with { type: 'json' };
import summary from '../../../contract/summary.v1.schema.json' with { type: 'json' };
import { printText } from '../../cli/output.ts';
import { OUTPUT_SCHEMAS } from './results.ts';

export interface SchemaOptions {
  readonly kind?: string;
  /** A directory of documents; true: the current one. */
  readonly editor?: string | true;
}

/** `machineadm schema`: prints the JSON Schema of the document or of a result, or writes the one for editors. */
export async function schema({ kind, editor }: SchemaOptions): Promise<number> {
  if (editor !== undefined) {
    const { writeEditorSchema } = await import('./editor.ts');
    return writeEditorSchema(editor === true ? '.' : editor);
  }
  const schemas: Readonly<Record<string, object>> = {
    ...OUTPUT_SCHEMAS,
    BootstrapStatus: status,
    BootstrapSummary: summary,
    BootstrapEvent: event,
  };
  const wanted = kind === undefined || kind === 'MachineBootstrap' ? jsonSchema() : schemas[kind];
  printText(JSON.stringify(wanted, undefined, 2));
  return exitCode('Success');
}
