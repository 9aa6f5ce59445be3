import type { CommandSpec } from '../spec.ts';

/** Reserved words that open a compound command, with the one that closes it (POSIX XCU 2.4, 2.9.4). */
const CLOSING: Readonly<Record<string, string>> = {
  if: 'fi',
  case: 'esac',
  for: 'done',
  while: 'done',
  until: 'done',
  select: 'done',
  '{': '}',
  '(': ')',
};
const CLOSERS = new Set(Object.values(CLOSING));

/** Joins consecutive commands that are only together a command for a shell, as in the script that the provider writes. */
export function whole(commands: readonly CommandSpec[], isScript: boolean): readonly CommandSpec[] {
  if (!isScript) return commands;
  const joined: CommandSpec[] = [];
  let begun = 0;
  let open = '';
  for (const [index, { command }] of commands.entries()) {
    open = index === begun ? command : `${open}\n${command}`;
    if (isOpen(open)) continue;
    const first = commands[begun];
    // Blank lines matter within a here-document only.
    if (first !== undefined && open.trim() !== '') joined.push({ command: open, at: first.at });
    begun = index + 1;
  }
  // What never ends is a mistake of the input: each command stays by itself, and a shell names it.
  return [...joined, ...commands.slice(begun)];
}

/** Whether a shell would read on: a quote, a compound command, a here-document or a list that is not at its end. */
function isOpen(text: string): boolean {
  const code = withoutDocuments(text);
  const bare = code === undefined ? undefined : withoutQuotes(code);
  if (bare === undefined || /(?:\\|&&|\|\|?)\s*$/.test(bare)) return true;
  const expected: string[] = [];
  let isCommand = true;
  // In a pattern of case, ")" closes nothing: it is skipped up to the command.
  for (const [token] of bare.matchAll(/;;|&&|\|\||[;&|(){}\n]|[^\s;&|(){}]+/g)) {
    const closing = isCommand || token === '(' ? CLOSING[token] : undefined;
    if (closing !== undefined) expected.push(closing);
    else if (CLOSERS.has(token) && (isCommand || token === ')') && expected.at(-1) === token) expected.pop();
    isCommand = /^(?:;;|&&|\|\||[;&|({\n)]|if|then|else|elif|do|while|until|!|fi|done|esac|\})$/.test(token);
  }
  return expected.length > 0;
}

/** The text with everything in quotes and comments, escaped, or expanded, as one letter; undefined for an open quote. */
function withoutQuotes(text: string): string | undefined {
  const bare = text.replace(/\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*"|\$\{[^{}]*\}|(?<=^|[\s;&|(])#[^\n]*/g, (part) =>
    part.startsWith('#') ? '' : 'q',
  );
  return /['"]/.test(bare) ? undefined : bare;
}

/** The text without the lines of its here-documents; undefined where one does not end. */
function withoutDocuments(text: string): string | undefined {
  const code: string[] = [];
  let end: string | undefined;
  let isIndented = false;
  for (const line of text.split('\n')) {
    if (end === undefined) {
      code.push(line);
      const document = /(?<!<)<<(-?)\s*\\?["']?([A-Za-z_]\w*)["']?/.exec(line);
      isIndented = document?.[1] === '-';
      end = document?.[2];
    } else if ((isIndented ? line.replace(/^\t+/, '') : line) === end) end = undefined;
  }
  return end === undefined ? code.join('\n') : undefined;
}
