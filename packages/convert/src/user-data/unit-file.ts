/** A setting of a unit file. */
export interface UnitSetting {
  readonly section: string;
  readonly key: string;
  readonly value: string;
}

/**
 * The settings of a unit file (systemd.syntax(7)): comments left out, lines that end in a backslash joined. A line that is no
 * setting is one without a key.
 */
export function unitSettings(text: string): readonly UnitSetting[] {
  const settings: UnitSetting[] = [];
  let section = '';
  for (const line of text.replace(/\\\n/g, ' ').split('\n')) {
    const trimmed = line.trim();
    if (trimmed === '' || /^[#;]/.test(trimmed)) continue;
    const header = /^\[(.+)\]$/.exec(trimmed)?.[1];
    if (header !== undefined) {
      section = header;
      continue;
    }
    const [, key = '', value = trimmed] = /^([A-Za-z0-9-]+)\s*=\s*(.*)$/.exec(trimmed) ?? [];
    settings.push({ section, key, value });
  }
  return settings;
}

/** Settings that a list of `[Section] Key` or `[Section] Key=value` does not have, by their names. */
export function otherSettings(settings: readonly UnitSetting[], known: ReadonlySet<string>): readonly string[] {
  return settings
    .filter(({ section, key, value }) => {
      const name = `[${section}] ${key}`;
      return !known.has(name) && !known.has(`${name}=${value}`);
    })
    .map(({ section, key }) => `[${section}] ${key === '' ? 'a line without a key' : key}`);
}
