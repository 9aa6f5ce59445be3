/** A text without characters at its end, in linear time: `/x+$/` takes quadratic time where many `x` are not at the end. */
export function trimmedEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1] ?? '')) end--;
  return text.slice(0, end);
}

/** The same at its beginning, too. */
export function trimmed(text: string, characters: string): string {
  let start = 0;
  while (start < text.length && characters.includes(text[start] ?? '')) start++;
  return trimmedEnd(text.slice(start), characters);
}
