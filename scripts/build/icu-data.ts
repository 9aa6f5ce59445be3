/** The beginning of ICU's data inside an executable, behind two bytes with its size (unicode-org/icu ucmndata.h, MappedData). */
const MAGIC = Buffer.from([0xda, 0x27]);
const FORMAT = Buffer.from('CmnD');
const FORMAT_AT = 12;

/** Languages of messages, sorting and numbers. What several share has a longer name: `root.res`, `pool.res`, `metaZones.res`. */
const LOCALE = /^[a-z]{2,3}(?:_\w+)?\.res$/;
const ENGLISH = /^en(?:_US|_001|_US_POSIX)?\.res$/;

/** Trees and files for what the program never does: spelled numbers, other scripts, words of Thai, old encodings. */
const UNUSED = /^[^/]+\/(?:rbnf|translit)\/|\.(?:dict|cnv)$/;

/**
 * Fills with zeros what a Node executable has of ICU's data for other languages than English, as Node's option
 * `--with-intl=small-icu` leaves it out. Nothing moves, but zeros compress to nothing: a quarter of the compressed program.
 * ICU takes what it cannot read for missing, and uses the root locale instead (unicode-org/icu uresbund.cpp, init_entry).
 * Throws if the executable does not have the data in that form.
 */
export function withoutOtherLanguages(executable: Buffer): Buffer {
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

/** The table of contents: a count, and for each item where its name and its bytes are (ucmndata.h, UDataOffsetTOC). */
function itemsAt(executable: Buffer, base: number): readonly Item[] {
  const count = executable.readUInt32LE(base);
  const entries = Array.from({ length: count }, (_, index) => {
    const entry = base + 4 + 8 * index;
    const nameAt = base + executable.readUInt32LE(entry);
    const name = executable.toString('latin1', nameAt, executable.indexOf(0, nameAt));
    return { name, from: base + executable.readUInt32LE(entry + 4) };
  }).sort((a, b) => a.from - b.from);
  if (!entries.some(({ name }) => name.endsWith('/root.res'))) throw new Error('ICU has its data in another form');
  // Where the last one ends is not written down.
  return entries.slice(0, -1).map((item, index) => ({ ...item, to: entries[index + 1]?.from ?? item.from }));
}
