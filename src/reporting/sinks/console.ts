import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { oneLine } from '@machineadm/document/text/printable.ts';
import { formatEvent } from '@machineadm/status/progress.ts';
import { errnoOf } from '../../host/files/file-error.ts';
import { type ConsoleDevice, openConsole } from '../../host/local-files/console-device.ts';
import type { Sink } from '../sink.ts';

/** A serial line of 9600 baud transmits 960 characters per second: a line must not take longer than that. */
const LONGEST_LINE = 900;

/** Writes one line per transition to a console device (`/dev/ttyS0`, `/dev/hvc0`, `COM1`). */
export function consoleSink(device: string): Sink {
  let console: ConsoleDevice | undefined;
  return {
    name: `Console ${device}`,
    async open() {
      console = openDevice(device);
    },
    async deliver(event, signal) {
      const text = formatEvent(event);
      // The line discipline converts \n to \r\n (ONLCR); a \r of our own would be doubled.
      if (text !== undefined) await console?.write(`${consoleLine(text)}\n`, signal);
    },
    async close() {
      console?.close();
      console = undefined;
    },
  };
}

/** The line as displayed between those of the kernel and services. */
export function consoleLine(text: string): string {
  const line = `machineadm: ${oneLine(text)}`;
  return line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE - 1)}…` : line;
}

function openDevice(device: string): ConsoleDevice {
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
