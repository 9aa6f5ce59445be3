import type { Model } from '@machineadm/document/model/index.ts';
import type { ChangedByStep, Staying } from '../../step/feature-step.ts';
import { namedIn } from '../../step/named-in.ts';

/** No run unmounts what programs may use, nor turns off swap that the kernel may need. */
export function mountsThatStay({ host }: Model, { resources, memory }: ChangedByStep): readonly Staying[] {
  const mounts = [...host.storage.mounts.map(({ path }) => path), ...namedIn(host, 'mount', [])];
  const swaps = host.storage.mounts.filter(({ path }) => path === 'none');
  const removed = namedIn(host, 'swap-file', []);
  const isSwapFile = (name: string): boolean => memory.before.has(`swap-file:${name}`);
  /** Of a device it is not known whether it is the one that the document names. */
  const isSwapRequested = (name: string): boolean =>
    isSwapFile(name)
      ? removed.includes(name) || swaps.some((one) => 'source' in one && one.source === name)
      : swaps.length > 0;
  return resources.flatMap(({ kind, name, resource }): readonly Staying[] => {
    if (kind === 'mount' && !mounts.includes(name))
      return [[resource, `${name} stays mounted, as programs may use it: absent: true unmounts it`]];
    if (kind !== 'swap' || isSwapRequested(name)) return [];
    const how = isSwapFile(name) ? 'absent: true removes the swap file' : 'swapoff turns it off';
    return [[resource, `swap on ${name} stays on, as the kernel may need the memory: ${how}`]];
  });
}
