import { Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Evidence, errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import type { Command } from '../seam/host.ts';
import { keyBlockHider, LineSplitter, Tail } from './output.ts';

const KEPT_OUTPUT_BYTES = 1024 * 1024;

/** The input and the output of a running command, and the first failure of either. */
export class ChildStreams {
  bytesRead = 0;
  readonly #command: Command;
  readonly #onFailure: () => void;
  readonly #splitters: LineSplitter[] = [];
  #failure: { readonly error: unknown } | undefined;

  /** @param onFailure ends the child; may be called several times */
  constructor(command: Command, onFailure: () => void) {
    this.#command = command;
    this.#onFailure = onFailure;
  }

  /** Keeps the tail of a stream and passes on its lines, redacted. */
  collect(stream: Readable | null, name: 'stdout' | 'stderr'): Tail {
    const tail = new Tail(KEPT_OUTPUT_BYTES);
    const { onLine } = this.#command;
    const hide = keyBlockHider();
    const lines = onLine === undefined ? undefined : this.#splitter((line) => onLine(name, redact(hide(line))));
    stream?.on('data', (bytes: Uint8Array) => {
      this.bytesRead += bytes.length;
      tail.write(bytes);
      if (lines !== undefined) this.#guard(() => lines.write(bytes));
    });
    return tail;
  }

  /** The lines of the extra descriptor are an internal protocol, so they are passed on unchanged. */
  readDescriptor(stdio: readonly unknown[]): void {
    const { onDescriptorLine } = this.#command;
    const stream = stdio[3];
    if (onDescriptorLine === undefined || !(stream instanceof Duplex)) return;
    const lines = this.#splitter((line) => onDescriptorLine(line, (text) => stream.write(`${text}\n`)));
    stream.on('data', (bytes: Uint8Array) => this.#guard(() => lines.write(bytes)));
    // A program that ended reads no answer.
    stream.on('error', () => undefined);
  }

  /** Passes the child its input. A child may stop reading early; a failing source is an error. */
  async feed(stdin: NodeJS.WritableStream, source: AsyncIterable<Uint8Array>): Promise<void> {
    const fail = (error: unknown): void => this.fail(error);
    // Only errors of the source itself count: the end of the child throws EPIPE into a generator, too.
    async function* guarded(): AsyncGenerator<Uint8Array> {
      const iterator = source[Symbol.asyncIterator]();
      try {
        for (;;) {
          const next = await iterator.next().catch(fail);
          if (next === undefined || next.done) return;
          yield next.value;
        }
      } finally {
        await iterator.return?.();
      }
    }
    await pipeline(Readable.from(guarded(), { objectMode: false }), stdin).catch(() => undefined);
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#onFailure();
  }

  /** After the last output: passes on unfinished lines, and returns the failure, if there was one. */
  end(): MachineadmError | undefined {
    for (const splitter of this.#splitters) this.#guard(() => splitter.end());
    if (this.#failure === undefined) return undefined;
    const { error } = this.#failure;
    return error instanceof MachineadmError ? error : failed(this.#command, error);
  }

  #splitter(line: (line: string) => void): LineSplitter {
    const splitter = new LineSplitter(line);
    this.#splitters.push(splitter);
    return splitter;
  }

  /** A listener that throws must not become an uncaught exception of the event loop. */
  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.fail(error);
    }
  }
}

function failed(command: Command, error: unknown): MachineadmError {
  const text = redact(errorMessage(error));
  const evidence: Evidence[] = [{ source: command.program, text }];
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: `${command.program} was killed because its input or output could not be handled`,
    remedy: 'Read the evidence. If it names a file, check that it can be read.',
    evidence,
    cause: error,
  });
}
