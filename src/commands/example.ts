import { exitCode } from '@machineadm/document/exit-codes.ts';
import { exampleDocument, type Role } from '@machineadm/document/index.ts';
import { printText } from '../cli/output.ts';

/** `machineadm example`: prints a document to start from. */
export async function example({ role }: { readonly role: Role }): Promise<number> {
  printText(exampleDocument(role));
  return exitCode('Success');
}
