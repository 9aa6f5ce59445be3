/** A small generator of numbers whose seed makes a run repeatable (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** From 0 up to `limit`, which is left out. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new RangeError('nothing to pick from');
    return item;
  }
}

/** An input made of others: cut, copied, joined, and with the parser's own tokens in it; rarely with one of them many times. */
export function mutate(random: Random, corpus: readonly string[], tokens: readonly string[]): string {
  let text = random.pick(corpus);
  for (let change = random.below(5); change >= 0; change--) text = changed(random, text, corpus, tokens);
  return text.slice(0, 200_000).toWellFormed();
}

function changed(random: Random, text: string, corpus: readonly string[], tokens: readonly string[]): string {
  const at = random.below(text.length + 1);
  switch (random.below(8)) {
    case 0:
      return text.slice(0, at) + random.pick(tokens) + text.slice(at);
    case 1:
      return text.slice(0, at) + text.slice(at + 1 + random.below(8));
    case 2: {
      const from = random.below(text.length + 1);
      return text.slice(0, at) + text.slice(from, from + random.below(60)) + text.slice(at);
    }
    case 3: {
      const lines = text.split('\n');
      const line = random.below(lines.length);
      const [moved = ''] = lines.splice(line, 1);
      lines.splice(random.below(lines.length + 1), 0, moved);
      return lines.join('\n');
    }
    case 4: {
      const lines = text.split('\n');
      const line = random.below(lines.length);
      lines[line] = ' '.repeat(random.below(4)) + (lines[line] ?? '').replace(/^ {0,2}/, '');
      return lines.join('\n');
    }
    case 5: {
      const other = random.pick(corpus);
      return text.slice(0, at) + other.slice(random.below(other.length + 1));
    }
    case 6:
      return (
        text.slice(0, at) + String.fromCharCode(random.below(random.below(4) === 0 ? 0x10000 : 128)) + text.slice(at)
      );
    default: {
      if (random.below(30) > 0) return text.slice(0, at) + text.slice(at + 1);
      const size = 1000 + random.below(60_000);
      return text.slice(0, at) + random.pick(tokens).repeat(size).slice(0, size) + text.slice(at);
    }
  }
}
