import { readFileSync } from 'node:fs';

/** CAP_DAC_READ_SEARCH is the capability 2 (capabilities(7)). */
const DAC_READ_SEARCH = 1n << 2n;

/** Whether this process may read every file: as root, or as another user with this right alone. */
export function mayReadAllFiles(): boolean {
  if (process.geteuid?.() === 0) return true;
  try {
    const effective = /^CapEff:\t([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1];
    return effective !== undefined && (BigInt(`0x${effective}`) & DAC_READ_SEARCH) !== 0n;
  } catch {
    return false;
  }
}
