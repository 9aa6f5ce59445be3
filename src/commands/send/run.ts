import { setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { endDespiteConnections } from '../../cli/lingering.ts';
import { Sender } from '../../reporting/delivery/send.ts';

/** `machineadm send`: delivers one event for each line of standard input, and answers with a line. */
export async function send(): Promise<number> {
  // As the unit of the deliverer: the work of the node comes first.
  setPriority(5);
  const sender = new Sender();
  const lines = createInterface({ input: process.stdin });
  const abort = new AbortController();
  lines.once('close', () => {
    // Without anybody who reads the answer, an attempt has no use.
    abort.abort();
    endDespiteConnections();
  });
  await sender.load();
  process.stdout.write('ready\n');
  for await (const line of lines) process.stdout.write(`${JSON.stringify(await sender.send(line, abort.signal))}\n`);
  return exitCode('Success');
}
