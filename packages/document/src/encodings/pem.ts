/** A block of a PEM text (RFC 7468). */
export interface PemBlock {
  /** `CERTIFICATE` */
  readonly label: string;
  /** Base64, with any white space between the lines. */
  readonly body: string;
  /** The whole block, and its offset in the text. */
  readonly text: string;
  readonly index: number;
}

const MARK = /-----(BEGIN|END) ([A-Z0-9 ]{1,64})-----/g;

/**
 * The blocks of a PEM text, in order, without incomplete ones. In one pass: a pattern with two ends would search the
 * second one after each of the first.
 */
export function pemBlocks(text: string): readonly PemBlock[] {
  const marks = [...text.matchAll(MARK)].map(({ 0: mark, 1: kind, 2: label = '', index }) => ({
    isBegin: kind === 'BEGIN',
    label,
    from: index,
    to: index + mark.length,
  }));
  // Backwards, so that each beginning finds the next end with its label.
  const ends = new Map<string, (typeof marks)[number]>();
  const blocks: PemBlock[] = [];
  for (const mark of marks.reverse()) {
    const { isBegin, label, from, to } = mark;
    const end = ends.get(label);
    if (!isBegin) ends.set(label, mark);
    else if (end !== undefined)
      blocks.push({ label, body: text.slice(to, end.from), text: text.slice(from, end.to), index: from });
  }
  let behind = 0;
  return blocks.reverse().filter(({ index, text: whole }) => {
    // One that begins inside another is part of its body.
    if (index < behind) return false;
    behind = index + whole.length;
    return true;
  });
}
