/** The indexes at which a list repeats an earlier entry, each with the index of the first one. */
export function repeated(list: readonly string[]): ReadonlyMap<number, number> {
  const first = new Map<string, number>();
  const found = new Map<number, number>();
  for (const [index, item] of list.entries()) {
    const earlier = first.get(item);
    if (earlier === undefined) first.set(item, index);
    else found.set(index, earlier);
  }
  return found;
}
