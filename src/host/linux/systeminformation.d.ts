/** Only this part of the package is loaded: the whole would add 270 KB to the program, which every start reads. */
declare module 'systeminformation/lib/memory.js' {
  import type { Systeminformation } from 'systeminformation';

  export function mem(): Promise<Systeminformation.MemData>;
}
