import { unescapeOctal } from '../host/files/paths.ts';

export const FSTAB_MARKER = '# machineadm disabled swap: ';

/** The first column of /proc/swaps, without its heading; blanks are written as `\040` (Linux mm/swapfile.c). */
export function activeSwaps(text: string | undefined): readonly string[] {
  const lines = (text ?? '').split('\n').slice(1);
  return lines.flatMap((line) => {
    const name = line.split(/\s+/)[0];
    return name === undefined || name === '' ? [] : [unescapeOctal(name)];
  });
}

/** fstab(5) with the swap lines that were commented out, and every other byte as it was. */
export function withSwap(text: string): string {
  return text.replace(new RegExp(`^${FSTAB_MARKER}`, 'gm'), '');
}

/** fstab(5) with every swap line commented out and every other byte as it was. */
export function withoutSwap(text: string): { readonly content: string; readonly devices: readonly string[] } {
  const devices: string[] = [];
  const lines = text.split('\n').map((line) => {
    const [device = '', , type] = line.trim().split(/\s+/);
    if (device.startsWith('#') || type !== 'swap') return line;
    devices.push(unescapeOctal(device));
    return `${FSTAB_MARKER}${line}`;
  });
  return { content: lines.join('\n'), devices };
}
