import { closeSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { MachineadmError } from '../../document/errors.ts';
import { oneLine } from '../../document/printable.ts';
import { openConsole } from '../../host/device.ts';
import { errnoOf } from '../../host/file-error.ts';
import { formatEvent } from '../progress.ts';
import type { Sink } from '../sink.ts';

/** A serial line of 9600 baud carries 960 characters a second: a line must not take longer than that. */
const LONGEST_LINE = 900;
/** Between two tries to write to a console whose buffer is full. */
const RETRY_MS = 50;

/**
 * Writes one line for each transition to a console device (`/dev/ttyS0`, `/dev/hvc0`, `COM1`). The device is opened
 * non-blocking and written synchronously: a console that nobody drains blocks a writer for ever, and an asynchronous
 * write to it would hold up even the exit of the process (it waits for libuv's thread pool).
 */
export function consoleSink(device: string): Sink {
  let descriptor: number | undefined;
  return {
    name: `Console ${device}`,
    async open() {
      descriptor = openDevice(device);
    },
    async deliver(event, signal) {
      const text = formatEvent(event);
      if (text === undefined || descriptor === undefined) return;
      // The line discipline makes \r\n of \n (ONLCR); a \r of our own would be a second one.
      await writeAll(descriptor, Buffer.from(`${consoleLine(text)}\n`), signal);
    },
    async close() {
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
    },
  };
}

/** The line as it is shown between those of kernel and services. */
export function consoleLine(text: string): string {
  const line = `machineadm: ${oneLine(text)}`;
  return line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE - 1)}…` : line;
}

function openDevice(device: string): number {
  try {
    return openConsole(device);
  } catch (error) {
    throw new MachineadmError({
      reason: 'HostStepFailed',
      summary: `the console ${device} cannot be opened: ${errnoOf(error) ?? String(error)}`,
      remedy: 'Correct the device of the Console sink.',
      cause: error,
    });
  }
}

/** Writes what the device takes and tries the rest again until the signal says that it took too long. */
async function writeAll(descriptor: number, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  for (let offset = 0; offset < bytes.length; ) {
    try {
      offset += writeSync(descriptor, bytes, offset);
    } catch (error) {
      if (errnoOf(error) !== 'EAGAIN') throw error;
      await sleep(RETRY_MS, undefined, { signal });
    }
  }
}
