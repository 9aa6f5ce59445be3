/**
 * Does the same with each item, with `atMost` of them at a time, beginning in their order. After a failure nothing more is
 * begun, and what runs is waited for: it is whole then, and not half. Throws what failed first.
 */
export async function mapWithLimit<Item>(
  items: readonly Item[],
  atMost: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = items[Symbol.iterator]();
  let failure: { readonly error: unknown } | undefined;
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      try {
        await work(item);
      } catch (error) {
        failure ??= { error };
      }
      if (failure !== undefined) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(Math.max(1, atMost), items.length) }, worker));
  if (failure !== undefined) throw failure.error;
}

/** Cuts a list where neighbours do not belong together. */
export function groupAdjacent<Item>(items: readonly Item[], together: (left: Item, right: Item) => boolean): Item[][] {
  const groups: Item[][] = [];
  for (const item of items) {
    const last = groups.at(-1);
    const previous = last?.at(-1);
    if (last !== undefined && previous !== undefined && together(previous, item)) last.push(item);
    else groups.push([item]);
  }
  return groups;
}
