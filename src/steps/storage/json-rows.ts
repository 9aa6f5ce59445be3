/**
 * Rows of what lsblk(8) and findmnt(8) print as JSON, every cell as text: util-linux before 2.33 quotes numbers, later
 * versions do not. [] for output of another shape.
 */
export function jsonRows(
  stdout: string,
  key: 'blockdevices' | 'filesystems',
): readonly Readonly<Record<string, string | undefined>>[] {
  const parsed: unknown = JSON.parse(stdout);
  const rows: unknown = typeof parsed === 'object' && parsed !== null ? Reflect.get(parsed, key) : undefined;
  if (!Array.isArray(rows)) return [];
  return rows.map((row: unknown) => {
    const cells = Object.entries(typeof row === 'object' && row !== null ? row : {});
    return Object.fromEntries(cells.map(([name, value]) => [name, value === null ? undefined : String(value)]));
  });
}
