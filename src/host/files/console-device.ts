import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { errnoOf } from './file-error.ts';
import { openPlace } from './place.ts';

/** Between two tries to write to a console whose buffer is full. */
const RETRY_MS = 50;

/** A console that is open for writing. */
export interface ConsoleDevice {
  /** Writes what the device takes and tries the rest again until the signal says that it took too long. */
  write(text: string, signal: AbortSignal): Promise<void>;
  close(): void;
}

/**
 * Opens a console without waiting for it and without making it the terminal of this process. It is non-blocking and written
 * synchronously: a console that nobody drains blocks a writer for ever, and an asynchronous write to it would hold up even
 * the exit of the process (it waits for libuv's thread pool). Throws what the kernel says.
 */
export function openConsole(device: string): ConsoleDevice {
  const descriptor = openDevice(device);
  return {
    async write(text, signal) {
      const bytes = Buffer.from(text);
      for (let offset = 0; offset < bytes.length; ) {
        try {
          offset += writeSync(descriptor, bytes, offset);
        } catch (error) {
          if (errnoOf(error) !== 'EAGAIN') throw error;
          await sleep(RETRY_MS, undefined, { signal });
        }
      }
    },
    close: () => closeSync(descriptor),
  };
}

function openDevice(device: string): number {
  // A serial port of Windows is reached below the device namespace (learn.microsoft.com, CreateFile, "Communications").
  if (process.platform === 'win32') {
    return openSync(device.startsWith('COM') ? `\\\\.\\${device}` : device, constants.O_WRONLY);
  }
  using place = openPlace(device, { follow: true });
  return place.open(constants.O_WRONLY | constants.O_NOCTTY | constants.O_NONBLOCK);
}
