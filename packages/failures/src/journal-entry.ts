/** What is used of one entry of the journal. */
export interface JournalEntry {
  readonly message: string;
  readonly identifier: string;
}

/**
 * One line of `journalctl -o json -a`: a message that is not valid UTF-8 comes as an array of bytes, a repeated field
 * as an array of values (systemd.io/JOURNAL_EXPORT_FORMATS). undefined = not a whole entry (the output was cut).
 */
export function parseJournalLine(line: string): JournalEntry | undefined {
  let entry: unknown;
  try {
    entry = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof entry !== 'object' || entry === null) return undefined;
  const fields = new Map<string, unknown>(Object.entries(entry));
  const message = textOf(fields.get('MESSAGE'));
  if (message === undefined) return undefined;
  return { message, identifier: textOf(fields.get('SYSLOG_IDENTIFIER')) ?? textOf(fields.get('_COMM')) ?? '' };
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return undefined;
  const items: unknown[] = value;
  if (items.every((item) => typeof item === 'number')) return new TextDecoder().decode(Uint8Array.from(items));
  const texts = items.filter((item) => typeof item === 'string');
  return texts.length === 0 ? undefined : texts.join('\n');
}
