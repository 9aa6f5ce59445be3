/** The magic bytes of ICU's data in an executable, after two bytes with the header size (unicode-org/icu ucmndata.h, MappedData). */
const MAGIC = Buffer.from([0xda, 0x27]);
const FORMAT = Buffer.from('CmnD');
const FORMAT_AT = 12;

/** Data of one locale. Shared data has a longer name: `root.res`, `pool.res`, `metaZones.res`. */
const LOCALE = /^[a-z]{2,3}(?:_\w+)?\.res$/;
const ENGLISH = /^en(?:_US|_001|_US_POSIX)?\.res$/;

/** Data of features that the program does not use: spelled-out numbers, transliteration, word breaking, legacy encodings. */
const UNUSED = /^[^/]+\/(?:rbnf|translit)\/|\.(?:dict|cnv)$/;

/**
 * Overwrites ICU's data of locales other than English in a Node executable with zeros. Node's build option
 * `--with-intl=small-icu` leaves out the same data. No offset changes, and the compressed program is a quarter smaller. ICU
 * treats data that it cannot read as missing and uses the root locale (unicode-org/icu uresbund.cpp, init_entry). Throws if
 * the executable has the data in another form.
 */
export function withoutOtherLocales(executable: Buffer): Buffer {
  const start = dataIn(executable);
  const base = start + executable.readUInt16LE(start);
  const items = itemsAt(executable, base);
  const smaller = Buffer.from(executable);
  for (const { name, from, to } of items) {
    const file = name.slice(name.lastIndexOf('/') + 1);
    if (UNUSED.test(name) || (LOCALE.test(file) && !ENGLISH.test(file))) smaller.fill(0, from, to);
  }
  return smaller;
}

function dataIn(executable: Buffer): number {
  for (let at = executable.indexOf(FORMAT); at >= 0; at = executable.indexOf(FORMAT, at + 1)) {
    const start = at - FORMAT_AT;
    if (start >= 0 && executable.subarray(start + 2, start + 4).equals(MAGIC)) return start;
  }
  throw new Error('the executable contains no data of ICU');
}

interface Item {
  /** `icudt78l/coll/de.res` */
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

/** The table of contents: a count, and for each item the offsets of its name and of its data (ucmndata.h, UDataOffsetTOC). */
function itemsAt(executable: Buffer, base: number): readonly Item[] {
  const count = executable.readUInt32LE(base);
  const entries = Array.from({ length: count }, (_, index) => {
    const entry = base + 4 + 8 * index;
    const nameAt = base + executable.readUInt32LE(entry);
    const name = executable.toString('latin1', nameAt, executable.indexOf(0, nameAt));
    return { name, from: base + executable.readUInt32LE(entry + 4) };
  }).sort((a, b) => a.from - b.from);
  if (!entries.some(({ name }) => name.endsWith('/root.res'))) throw new Error('ICU has its data in another form');
  // The table does not record where the last item ends.
  return entries.slice(0, -1).map((item, index) => ({ ...item, to: entries[index + 1]?.from ?? item.from }));
}
