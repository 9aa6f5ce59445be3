import { exitCode } from '@machineadm/document/exit-codes.ts';
import { jsonSchema } from '@machineadm/document/json-schema.ts';
import { printText } from './output.ts';

/** `machineadm schema`: the JSON Schema of the document. */
export async function schema(): Promise<number> {
  printText(JSON.stringify(jsonSchema(), undefined, 2));
  return exitCode('Success');
}
