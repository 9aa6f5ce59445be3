import { ShellScanner } from '../shell/scanner.ts';
import type { CommandSpec } from '../spec/spec.ts';

/** Joins consecutive commands that are only together a command for a shell, as in the script that the provider writes. */
export function whole(commands: readonly CommandSpec[], isScript: boolean): readonly CommandSpec[] {
  if (!isScript) return commands;
  const joined: CommandSpec[] = [];
  const scanner = new ShellScanner();
  let begun = 0;
  for (const [index, { command }] of commands.entries()) {
    scanner.feed(command);
    if (scanner.isOpen) continue;
    const parts = commands.slice(begun, index + 1);
    const text = parts.map((part) => part.command).join('\n');
    const [first] = parts;
    // Blank lines matter within a here-document only.
    if (first !== undefined && text.trim() !== '') joined.push({ command: text, at: first.at });
    begun = index + 1;
  }
  // What never ends is a mistake of the input: each command stays by itself, and a shell names it.
  return [...joined, ...commands.slice(begun)];
}
