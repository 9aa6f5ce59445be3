/** A file name without its directory, its extension, and characters that a file name should not have. */
export function stemOf(path: string): string | undefined {
  const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
  const stem = name.slice(0, name.lastIndexOf('.') > 0 ? name.lastIndexOf('.') : name.length);
  const plain = Array.from(stem, (character) => (/[A-Za-z0-9._-]/.test(character) ? character : '-')).join('');
  return /^[A-Za-z0-9]/.test(plain) ? plain.slice(0, 200) : undefined;
}
