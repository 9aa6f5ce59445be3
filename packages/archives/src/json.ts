/** Access to JSON of unknown structure: a mismatch is an empty value. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
}

export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function stringsOf(value: unknown): readonly string[] {
  return arrayOf(value).filter((item) => typeof item === 'string');
}
