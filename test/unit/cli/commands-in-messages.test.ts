import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import type { Command } from 'commander';
import { commandIn } from '../../../src/cli/command-tree.ts';
import { createProgram } from '../../../src/commands/index.ts';

const root = resolve(import.meta.dirname, '../../..');
/** Texts that begin as a command line does, and are sentences. */
const SENTENCES =
  /^(?:never|is|must|does|did|was|has|starts|runs|itself|removed|ends|provision resolves|contract|then|was|not|could|cannot|wrote|would|may|on a|as root|sealed)\b/;

/** Every command line that a source quotes: `machineadm doctor -f FILE`, or behind Run, Use, with. */
function commandLinesIn(source: string): readonly string[] {
  const quoted = source.matchAll(
    /`machineadm ([a-z_][^`\n]*)`|(?:[Rr]un|[Uu]se|with) machineadm ([a-z][\w -]*?)(?=[,.;:'"`)]|$)/gm,
  );
  return [...quoted].map(([, inBackticks, behind]) =>
    (inBackticks ?? behind ?? '').replace(/\\|\$\{\w+\}/g, ' ').trim(),
  );
}

function mistakeIn(line: string, program: Command): string | undefined {
  const words = line.split(/[ ,…]+/).filter((word) => word !== '');
  const [command, rest] = commandIn(program, words);
  const [next] = rest;
  if (next === 'help') return undefined;
  if (command === program) return `there is no command ${next}`;
  if (command.commands.length > 0 && next !== undefined && /^[a-z]/.test(next))
    return `${command.name()} has no ${next}`;
  const known = command.options.flatMap(({ short, long }) => [short, long]);
  const unknown = rest
    .filter((word) => /^--?[a-z]/.test(word))
    .find((word) => !known.includes(word.split('=')[0]) && word !== '--help');
  return unknown === undefined ? undefined : `${command.name()} has no ${unknown}`;
}

test('every command line in a message, a remedy or a comment is valid', () => {
  const program = createProgram(() => {});
  const found = globSync(['src/**/*.ts', 'packages/*/src/**/*.ts'], { cwd: root }).flatMap((file) =>
    commandLinesIn(readFileSync(join(root, file), 'utf8')).map((line) => [file, line] as const),
  );
  const lines = found.filter(([, line]) => !SENTENCES.test(line));
  assert.ok(lines.length > 60, `${lines.length} were found`);
  const wrong = lines.flatMap(([file, line]) => {
    const mistake = mistakeIn(line, program);
    return mistake === undefined ? [] : [`${file}: machineadm ${line}: ${mistake}`];
  });
  assert.deepEqual(wrong, []);
});

test('an invalid command line is found', () => {
  const program = createProgram(() => {});
  for (const line of ['aply -f FILE', 'plan --dif', 'report sent', 'status -x'])
    assert.notEqual(mistakeIn(line, program), undefined, line);
  for (const line of ['plan -f FILE', 'report test', 'explain --recursive', 'status -o html', 'help'])
    assert.equal(mistakeIn(line, program), undefined, line);
});
