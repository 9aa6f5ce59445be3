/**
 * A text of several JSON values one after the other, as jq and several calls of kubectl print them, with a marker of YAML
 * between them. Any other text as it is. The work grows with the length of the text only.
 */
export function separatedJson(text: string): string {
  const values = valuesOf(text);
  if (values === undefined || values.length < 2) return text;
  return values.map(([start, end]) => text.slice(start, end)).join('\n---\n');
}

/** The places of the maps and lists of a text that consists of them; undefined where it has anything else. */
function valuesOf(text: string): readonly (readonly [number, number])[] | undefined {
  const values: (readonly [number, number])[] = [];
  let start = 0;
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const character = text[index] ?? '';
    if (character === '"') {
      if (depth === 0) return undefined;
      index = endOfString(text, index);
    } else if (character === '{' || character === '[') {
      if (depth === 0) start = index;
      depth++;
    } else if (character === '}' || character === ']') {
      depth--;
      if (depth < 0) return undefined;
      if (depth === 0) values.push([start, index + 1]);
    } else if (depth === 0 && !isBetween(character)) return undefined;
  }
  return depth === 0 ? values : undefined;
}

/** Blanks, a byte order mark, and the separator of RFC 7464. */
function isBetween(character: string): boolean {
  return character.trim() === '' || character === '\u001E';
}

function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    if (text[index] === '\\') index++;
    else if (text[index] === '"') return index;
  }
  return text.length;
}
