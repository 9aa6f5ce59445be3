import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { CODES } from '@machineadm/convert/report/codes.ts';
import { exampleDocument } from '@machineadm/document/index.ts';
import { type Command, Help } from 'commander';
import { completionsFor } from '../../../../src/commands/completion/complete.ts';
import { valueKindOf } from '../../../../src/commands/completion/values.ts';
import { createProgram } from '../../../../src/commands/index.ts';

const directory = mkdtempSync(join(tmpdir(), 'machineadm-complete-'));
const DOCUMENT = join(directory, 'bootstrap.yaml');
writeFileSync(DOCUMENT, exampleDocument('Worker'), { mode: 0o600 });
after(() => rmSync(directory, { recursive: true }));

const program = createProgram(() => {});

/** What is offered at the end of a line; the last word is the one at the cursor. */
async function offered(line: string): Promise<readonly string[]> {
  const words = line.split(' ');
  const { candidates, directive } = await completionsFor(words.slice(1, -1), words.at(-1) ?? '', program);
  return [...candidates.map(({ value }) => value), `:${directive}`];
}

/** Every command with its words, internal ones included. */
function commandsOf(command: Command, path: readonly string[] = []): (readonly [readonly string[], Command])[] {
  const below = command.commands.flatMap((child) => commandsOf(child, [...path, child.name()]));
  return [[path, command], ...below];
}

describe('every command', () => {
  for (const [path, command] of commandsOf(program)) {
    const line = ['machineadm', ...path].join(' ');

    test(`${line}: its options and their values are completed`, async () => {
      const options = await offered(`${line} --`);
      assert.ok(options.includes('--help'), options.join());
      for (const option of command.options.filter(({ hidden }) => !hidden)) {
        assert.ok(options.includes(option.long ?? ''), `${option.flags} is not offered`);
        if (!option.required) continue;
        const { kind } = valueKindOf(option);
        const found = await offered(`${line} ${option.long} `);
        const directive =
          kind === 'document' || kind === 'file' ? ':files' : kind === 'directory' ? ':directories' : '';
        assert.ok(found.at(-1)?.startsWith(directive), `${option.flags}: ${found.join()}`);
        if (option.argChoices !== undefined) assert.deepEqual(found.slice(0, -1), option.argChoices);
      }
    });

    test(`${line}: its subcommands and arguments are completed`, async () => {
      const found = await offered(`${line} `);
      const visible = new Help().visibleCommands(command);
      const isOffered = (child: Command): boolean => found.includes(child.name());
      assert.deepEqual(
        command.commands.filter(isOffered),
        command.commands.filter((one) => visible.includes(one)),
      );
      for (const argument of command.registeredArguments) assert.ok(valueKindOf(argument));
    });
  }
});

describe('a word', () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['machineadm pl', ['plan', ':none']],
    ['machineadm plan -o y', ['yaml', ':none']],
    ['machineadm status --output=h', ['--output=html', ':none']],
    ['machineadm status -o json --w', ['--wait', ':none']],
    ['machineadm -- pl', ['plan', ':none']],
    ['machineadm audit --profile st', ['stig', ':none']],
    ['machineadm audit --profile stig --pro', ['--profile', ':none']],
    ['machineadm status --wait --wa', [':none']],
    ['machineadm verify -- --x', [':files']],
    ['machineadm verify a b ', [':files']],
    ['machineadm explain host.hooks.ear', ['host.hooks.early', ':partial']],
    ['machineadm explain host.nothing.', [':none']],
    ['machineadm status -o jsonp', ['jsonpath=', ':partial']],
    ['machineadm validate -f ', [':files']],
    ['machineadm validate ', [':files']],
    ['machineadm convert --accept KeyR', ['KeyRepeated', ':partial']],
    ['machineadm convert --accept KeyRepeated,UnknownF', ['KeyRepeated,UnknownField', ':partial']],
    ['machineadm images l', ['list', ':none']],
    ['machineadm images ', ['list', 'help', ':none']],
    ['machineadm images ./b', [':files']],
    ['machineadm config --orig', ['--origin', ':none']],
    ['machineadm config -f x.yaml --orig', ['--origin', ':none']],
    ['machineadm config x.yaml --orig', ['--origin', ':none']],
    ['machineadm images -o y', ['yaml', ':none']],
    ['machineadm images --output=y', ['--output=yaml', ':none']],
    ['machineadm nothing ', [':none']],
    ['machineadm status --nothing ', [':none']],
  ];
  for (const [line, expected] of cases) {
    test(`of "${line}" is completed`, async () => {
      const found = await offered(line);
      // Other options may be added at any time.
      if (line.includes('nothing ')) assert.equal(found.at(-1), expected.at(-1));
      else assert.deepEqual(found, expected);
    });
  }

  test('after --accept is completed with the codes of decisions only', async () => {
    const found = (await offered('machineadm convert --accept ')).slice(0, -1);
    const decisions = Object.entries(CODES).flatMap(([code, { severity }]) => (severity === 'decision' ? [code] : []));
    assert.deepEqual(found, decisions);
  });

  test('is completed with the version of the document on the line', async () => {
    for (const given of [`-f ${DOCUMENT}`, `--filename=${DOCUMENT}`, `-d ${DOCUMENT}`, DOCUMENT]) {
      assert.deepEqual(await offered(`machineadm render kubeadm ${given} --kubeadm-version `), ['v1.35.2', ':none']);
    }
  });

  test('is not completed where the document has mistakes, is missing or comes from stdin', async () => {
    const broken = join(directory, 'broken.yaml');
    writeFileSync(broken, 'kubernetes: [', { mode: 0o600 });
    for (const source of [broken, join(directory, 'absent.yaml'), '-']) {
      assert.deepEqual(await offered(`machineadm render kubeadm -d ${source} --kubeadm-version `), [':none']);
    }
  });
});
