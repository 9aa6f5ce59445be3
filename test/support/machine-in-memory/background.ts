/** In place of `src/host/processes/background.ts`. */
import type { BackgroundCommand } from '../../../src/host/processes/background.ts';
import { currentMachine } from './current.ts';

export async function startInBackground(command: BackgroundCommand): Promise<void> {
  currentMachine().started.push(command);
}
