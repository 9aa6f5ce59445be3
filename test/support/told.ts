import { Writable } from 'node:stream';
import type { runProgram } from '../../src/commands/index.ts';

/** What a command line printed, and its exit status. */
export interface Told {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a copy of the program in this process, on streams that are no terminals. One at a time. */
export async function toldBy(run: typeof runProgram, args: readonly string[]): Promise<Told> {
  const [stdout, stderr] = [new Collected(), new Collected()];
  using replaced = new DisposableStack();
  // The report of the test runner goes on into the stream that it has in hand.
  for (const [name, stream] of [
    ['stdout', stdout],
    ['stderr', stderr],
  ] as const) {
    const kept = Object.getOwnPropertyDescriptor(process, name);
    Object.defineProperty(process, name, { configurable: true, value: stream });
    replaced.defer(() => Object.defineProperty(process, name, kept ?? {}));
  }
  const status = await run(['node', 'machineadm', ...args]);
  return { status, stdout: stdout.text, stderr: stderr.text };
}

class Collected extends Writable {
  readonly #chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}
