import { constants, openSync } from 'node:fs';
import { openPlace } from './place.ts';

/**
 * Opens a console to write to, without waiting for it and without making it the terminal of this process. A serial port of
 * Windows is reached below the device namespace (learn.microsoft.com, CreateFile, "Communications").
 */
export function openConsole(device: string): number {
  if (process.platform === 'win32') {
    return openSync(device.startsWith('COM') ? `\\\\.\\${device}` : device, constants.O_WRONLY);
  }
  using place = openPlace(device, { follow: true });
  return place.open(constants.O_WRONLY | constants.O_NOCTTY | constants.O_NONBLOCK);
}
