import { learn } from '@machineadm/document/redaction/process-redactor.ts';
import { observeSecrets } from '@machineadm/document/secrets/secret.ts';
import { runProgram } from './commands/index.ts';
import { sealProcess } from './seal.ts';

/**
 * Process entry. Loads commander and nothing else; each command loads what it needs. The exit status is set and the
 * process left to end by itself: `process.exit` would cut off what a pipe has not taken yet.
 */
async function main(): Promise<void> {
  sealProcess();
  // Before any secret is made: in the program, a module runs when something of it is used, and not when it is imported.
  observeSecrets((secret) => learn(secret));
  // A reader that went away (`| head`) must not kill a run that changes the machine.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  process.exitCode = await runProgram(process.argv);
}

void main();
