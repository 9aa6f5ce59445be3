/**
 * Processes the items concurrently, at most `atMost` at a time, started in order. After a failure no more are started,
 * and running ones are waited for. Throws the first failure.
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

/** Splits a list where adjacent items do not belong together. */
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
