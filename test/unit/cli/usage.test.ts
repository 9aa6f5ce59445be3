import assert from 'node:assert/strict';
import { describe, mock, test } from 'node:test';
import type { Command, Option } from 'commander';
import { leavesOf } from '../../../src/cli/command-tree.ts';
import { createProgram, runProgram } from '../../../src/commands/index.ts';

/** Runs a command line that is wrong; what it prints on stderr. */
async function refused(line: string): Promise<string> {
  let printed = '';
  const write = mock.method(process.stderr, 'write', (text: string) => {
    printed += text;
    return true;
  });
  try {
    assert.equal(await runProgram(['node', 'machineadm', ...line.split(' ')]), 2);
  } finally {
    write.mock.restore();
  }
  return printed;
}

describe('a command line that is not understood', () => {
  const cases: readonly (readonly [string, string | undefined, string])[] = [
    ['provison -f x', 'provision', 'machineadm provision'],
    ['applyy -f x', 'provision', 'machineadm provision'],
    ['apply -f x', 'provision', 'machineadm provision'],
    ['init --config x', 'provision', 'machineadm provision'],
    ['get nodes', 'status', 'machineadm status'],
    ['describe node', 'status', 'machineadm status'],
    ['logs -f', 'status --follow', 'machineadm status'],
    ['destroy', 'reset', 'machineadm reset'],
    ['show x', 'config show', 'machineadm config show'],
    ['diff -f x', 'plan --diff', 'machineadm plan'],
    ['plann --help', 'plan', 'machineadm plan'],
    ['help plann', 'plan', 'machineadm plan'],
    ['help report tst', 'test', 'machineadm report test'],
    ['report tst', 'test', 'machineadm report test'],
    ['report apply', undefined, 'machineadm report'],
    ['images lst -f x', 'list', 'machineadm images list'],
    ['render kubeadmin -f x.yaml', 'kubeadm', 'machineadm render kubeadm'],
    ['config base', undefined, 'machineadm config'],
    ['config', undefined, 'machineadm config show'],
    ['images -f x --ouput json', '--output', 'machineadm images list'],
    ['toString', undefined, 'machineadm'],
    ['nothing-like-it', undefined, 'machineadm'],
    ['plan --ouput json', '--output', 'machineadm plan'],
    ['plan --ouput=json', '--output', 'machineadm plan'],
    ['provision --timout 5m x', '--timeout', 'machineadm provision'],
    ['provision --config x', '--filename', 'machineadm provision'],
    ['reset -y', '--yes', 'machineadm reset'],
    ['reset --config x', undefined, 'machineadm reset'],
    ['status --json', '--output json', 'machineadm status'],
    ['schema --kind plan', 'Plan', 'machineadm schema'],
    ['convert --wrap -f x', 'machineadm wrap', 'machineadm convert'],
    ['validate', undefined, 'machineadm validate'],
  ];
  for (const [line, meant, command] of cases) {
    test(`${line}: ${meant ?? 'nothing'} is suggested, and the help of ${command}`, async () => {
      const text = await refused(line);
      assert.equal(/\(Did you mean (.*)\?\)/.exec(text)?.[1], meant, text);
      assert.ok(text.endsWith(`\nSee '${command} --help'.\n`), text);
    });
  }

  test('every suggestion for a command of another tool is a valid command line', async () => {
    const { FOREIGN_COMMANDS, FOREIGN_OPTIONS } = await import('../../../src/cli/usage.ts');
    const program = createProgram(() => {});
    const known = new Set(leavesOf(program).flatMap(({ options }) => options.flatMap(({ long }) => long ?? [])));
    for (const words of Object.values(FOREIGN_COMMANDS)) {
      const [names, flags] = [words.split(' ').filter((word) => !word.startsWith('-')), words.match(/--\S+/g) ?? []];
      const command = leavesOf(program).find((one) => names.join(' ') === wordsOf(one));
      assert.ok(command !== undefined, words);
      for (const flag of flags)
        assert.ok(
          command.options.some(({ long }) => long === flag),
          words,
        );
    }
    for (const words of Object.values(FOREIGN_OPTIONS)) assert.ok(known.has(words.split(' ')[0] ?? ''), words);
    for (const word of Object.keys(FOREIGN_COMMANDS))
      assert.ok(!program.commands.some((one) => one.name() === word), word);
    for (const word of Object.keys(FOREIGN_OPTIONS).filter((one) => one.startsWith('--'))) {
      const command = leavesOf(program).find(({ options }) =>
        options.some(({ long, hidden }) => long === word && !hidden),
      );
      // What some command has is offered by others in its place only.
      if (command !== undefined) assert.notEqual(FOREIGN_OPTIONS[word], word);
    }
  });
});

function wordsOf(command: { readonly name: () => string; readonly parent: unknown }): string {
  const { parent } = command;
  return isCommand(parent) && isCommand(parent.parent) ? `${wordsOf(parent)} ${command.name()}` : command.name();
}

function isCommand(value: unknown): value is { name: () => string; parent: unknown } {
  return typeof value === 'object' && value !== null && 'name' in value && 'parent' in value;
}

/**
 * Flags whose commands say in their own words what they do with them. The meaning is what all of them have in common; a flag
 * that is not here is described in the same words everywhere.
 */
const MEANINGS: Readonly<Record<string, string>> = {
  '--authorization': 'the file with the Authorization header for a location',
  '--ca': 'certificates that https locations are verified by',
  '--dry-run': 'show what would be changed; changes nothing',
  '--filename': 'what the command reads',
  '--key': 'a public key to trust',
  '--output': 'the format of the result',
  '--output-dir': 'the directory that files are written into',
  '--output-file': 'the file that the result is written to',
  '--release': 'the release that is meant',
  '--role': 'the role of the machine',
  '--secret': 'the name of the bootstrap data Secret that is written',
  '--signature': 'a detached signature in DER',
  '--sha256': 'the digest of the one file that is named',
  '--timeout': 'give up after this long',
};

describe('a flag of machineadm', () => {
  const uses = new Map<string, (readonly [string, Option])[]>();
  const shorts = new Map<string, Set<string>>();
  for (const command of leavesOf(createProgram(() => {}))) {
    for (const option of command.options.filter(({ hidden, negate }) => !hidden && !negate)) {
      const { long, short } = option;
      assert.ok(typeof long === 'string');
      uses.set(long, [...(uses.get(long) ?? []), [wordsOf(command), option]]);
      if (short !== undefined) shorts.set(short, new Set([...(shorts.get(short) ?? []), long]));
    }
  }

  for (const [flag, found] of uses) {
    test(`${flag} has the same meaning in all commands that have it`, () => {
      const inAll = (what: (option: Option) => unknown): readonly string[] => [
        ...new Set(found.map(([, option]) => JSON.stringify(what(option)))),
      ];
      const commands = found.map(([words]) => words).join();
      if (flag !== '--output') assert.equal(inAll(({ argChoices }) => argChoices).length, 1, commands);
      // Short names, and what kind of value it takes: a file is not a directory anywhere.
      const shapes = inAll(({ flags }) => flags);
      assert.equal(shapes.length, 1, `${commands}: ${shapes.join()}`);
      const said = inAll(({ description }) => description);
      assert.equal(said.length > 1, flag in MEANINGS && found.length > 1, `${commands}: ${said.join('\n')}`);
    });
  }

  test('has one short name, and a short name one flag', () => {
    for (const [short, longs] of shorts) assert.equal(longs.size, 1, `${short}: ${[...longs].join()}`);
  });

  test('is described here only where there is one', () => {
    assert.deepEqual(
      Object.keys(MEANINGS).filter((flag) => !uses.has(flag)),
      [],
    );
  });

  test('for the terminal is in every command', () => {
    const commands = leavesOf(createProgram(() => {}));
    for (const flag of ['--verbose', '--quiet', '--color']) assert.equal(uses.get(flag)?.length, commands.length, flag);
    for (const { options } of commands) assert.ok(options.some(({ long }) => long === '--no-color'));
  });
});

test('a command that is described alone, as it is when it runs, is the same as among all', () => {
  const all = createProgram(() => {});
  const described = (command: Command): unknown => [
    command.helpInformation(),
    command.options.map(({ flags, hidden, mandatory }) => [flags, hidden, mandatory]),
    command.commands.map(described),
  ];
  for (const command of all.commands) {
    const alone = createProgram(() => {}, command.name());
    assert.deepEqual(alone.commands.map(described), [described(command)]);
  }
});
