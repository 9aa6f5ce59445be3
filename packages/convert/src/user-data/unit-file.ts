export interface UnitSetting {
  readonly section: string;
  readonly key: string;
  readonly value: string;
}

/**
 * The settings of a unit file (systemd.syntax(7)), without comments, with continued lines joined. A line that is not a
 * setting has no key.
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
    const equals = trimmed.indexOf('=');
    const key = trimmed.slice(0, Math.max(equals, 0)).trimEnd();
    if (/^[A-Za-z0-9-]+$/.test(key)) settings.push({ section, key, value: trimmed.slice(equals + 1).trimStart() });
    else settings.push({ section, key: '', value: trimmed });
  }
  return settings;
}

/** The names of settings that are not in a list of `[Section] Key` or `[Section] Key=value`. */
export function otherSettings(settings: readonly UnitSetting[], known: ReadonlySet<string>): readonly string[] {
  return settings
    .filter(({ section, key, value }) => {
      const name = `[${section}] ${key}`;
      return !known.has(name) && !known.has(`${name}=${value}`);
    })
    .map(({ section, key }) => `[${section}] ${key === '' ? 'a line without a key' : key}`);
}
