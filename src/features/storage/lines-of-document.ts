import { FSTAB } from '@machineadm/document/ownership/paths.ts';
import { withoutEntry } from '../../block-devices/fstab.ts';
import { swapKey } from '../../block-devices/mount-state.ts';
import { removedLines } from '../../owned-files/removed-lines.ts';
import type { Restoring } from '../../step/restoring.ts';

/** The lines in fstab of mounts and swap areas that only this document asks for. */
export const linesOfDocument: NonNullable<Restoring['withDocument']> = async (host, memory, _name, asked) => {
  const keys = (asked?.wishes ?? []).flatMap(({ key }) => {
    const [, kind, path = ''] = /^(mount|swap):(\/.*)$/s.exec(key) ?? [];
    if (kind === undefined) return [];
    const isMount = kind === 'mount';
    if (memory.others(isMount ? `mount:${path}` : `swap:${path}`, 'mounts')) return [];
    return [isMount ? path : swapKey(path)];
  });
  return keys.length === 0 ? [] : await removedLines(host, FSTAB, (text) => keys.reduce(withoutEntry, text));
};
