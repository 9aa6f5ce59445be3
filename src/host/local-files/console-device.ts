import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { errnoOf } from '../files/file-error.ts';
import { openPlace } from './place.ts';

/** Pause between two attempts to write to a console whose buffer is full. */
const RETRY_MS = 50;

/** A console that is open for writing. */
export interface ConsoleDevice {
  /** Writes what the device accepts, and retries the rest until the signal is aborted. */
  write(text: string, signal: AbortSignal): Promise<void>;
  close(): void;
}

/**
 * Opens a console without blocking and without making it the controlling terminal. It is non-blocking and written
 * synchronously: a console that nothing drains would block a writer for ever, and an asynchronous write would even hold
 * up the exit of the process (it waits for libuv's thread pool). Throws the kernel's error.
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
  // Windows addresses a serial port in the device namespace (learn.microsoft.com, CreateFile, "Communications").
  if (process.platform === 'win32') {
    return openSync(device.startsWith('COM') ? `\\\\.\\${device}` : device, constants.O_WRONLY);
  }
  using place = openPlace(device, { follow: true });
  return place.open(constants.O_WRONLY | constants.O_NOCTTY | constants.O_NONBLOCK);
}
