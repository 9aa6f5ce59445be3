/** Shorter texts stand in too many lines to tell anything. */
const SHORTEST = 4;

/**
 * Texts of which every match of a pattern holds at least one, so that a line without them need not be tried; undefined
 * where a pattern demands no text. Reads what the catalogue's patterns are made of: no flags, back references or look-behind.
 */
export function requiredLiterals(pattern: RegExp): readonly string[] | undefined {
  return pattern.flags === '' ? new Reader(pattern.source).alternatives() : undefined;
}

class Reader {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** One of several: each must demand a text. Ends at the end or before `)`. */
  alternatives(): readonly string[] | undefined {
    const found: (readonly string[] | undefined)[] = [this.#sequence()];
    while (this.#source[this.#at] === '|') {
      this.#at++;
      found.push(this.#sequence());
    }
    const all = found.flatMap((texts) => texts ?? []);
    return found.includes(undefined) ? undefined : [...new Set(all)];
  }

  #sequence(): readonly string[] | undefined {
    let best: readonly string[] | undefined;
    let run = '';
    const consider = (texts: readonly string[] | undefined): void => {
      if (texts !== undefined && worth(texts) > worth(best)) best = texts;
    };
    const endRun = (): void => {
      if (run.length >= SHORTEST) consider([run]);
      run = '';
    };
    while (this.#at < this.#source.length && !'|)'.includes(this.#source[this.#at] ?? '')) {
      const atom = this.#atom();
      const isOptional = this.#quantifier();
      if (typeof atom === 'string' && !isOptional.optional) {
        run += atom;
        if (isOptional.repeats) endRun();
        continue;
      }
      endRun();
      if (typeof atom === 'object' && !isOptional.optional) consider(atom.texts);
    }
    endRun();
    return best;
  }

  /** A character, a group with what it demands, or undefined for what may be several characters. */
  #atom(): string | { readonly texts: readonly string[] | undefined } | undefined {
    const char = this.#source[this.#at++] ?? '';
    switch (char) {
      case '(':
        return this.#group();
      case '[':
        while (this.#source[this.#at] !== ']') this.#at += this.#source[this.#at] === '\\' ? 2 : 1;
        this.#at++;
        return undefined;
      case '.':
        return undefined;
      case '^':
      case '$':
        return '';
      case '\\':
        return this.#escape();
      default:
        return char;
    }
  }

  #escape(): string | undefined {
    const char = this.#source[this.#at++] ?? '';
    if (/[bB]/.test(char)) return '';
    return /[A-Za-z0-9]/.test(char) ? undefined : char;
  }

  #group(): { readonly texts: readonly string[] | undefined } {
    const [opening = ''] = /^\?(?:[:=!]|<[=!]|<\w+>)/.exec(this.#source.slice(this.#at)) ?? [];
    this.#at += opening.length;
    const texts = this.alternatives();
    this.#at++;
    return { texts: opening.endsWith('!') ? undefined : texts };
  }

  #quantifier(): { readonly optional: boolean; readonly repeats: boolean } {
    const [text = ''] = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(this.#source.slice(this.#at)) ?? [];
    this.#at += text.length;
    return { optional: /^[*?]|^\{0/.test(text), repeats: text !== '' };
  }
}

/** Long texts are rare, and few of them are found sooner. */
function worth(texts: readonly string[] | undefined): number {
  return texts === undefined ? 0 : Math.min(...texts.map(({ length }) => length)) - texts.length / 4;
}
