import type { QueryHost } from '../../host/seam/host.ts';
import {
  assumedInventory,
  type Inventory,
  type ResetPlaces,
  takeInventory,
} from '../../kubernetes/kubeadm/inventory.ts';
import type { StepRecord } from '../../step/index.ts';

/**
 * What a reset must keep: what the journal says was there before the first attempt. Without a bootstrap of ours there is
 * nothing to reset; a journal of an older version does not say, and then what cannot be made again counts as there before.
 */
export async function inventoryFor(host: QueryHost, places: ResetPlaces, record: StepRecord): Promise<Inventory> {
  if (record.inventory !== undefined) return record.inventory;
  if (record.bootstrap === 'none' && !record.foreignLeftovers) return [];
  return withoutOurs(await assumedInventory(host, places), record);
}

/** What is on the machine now, and was not written by a step. */
export async function inventoryNow(host: QueryHost, places: ResetPlaces, record: StepRecord): Promise<Inventory> {
  return withoutOurs(await takeInventory(host, places), record);
}

function withoutOurs(inventory: Inventory, { created }: StepRecord): Inventory {
  return inventory.filter(({ path }) => !created(path));
}
