/** In place of `src/host/linux/read.ts`, for code that reads without a host. */
import { currentMachine } from './current.ts';

export * from '../../../src/host/linux/read.ts';

export async function readText(path: string): Promise<string | undefined> {
  return await currentMachine().host.readText(path);
}
