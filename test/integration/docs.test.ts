import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import { isProgram } from '../../scripts/test-packages.ts';
import { createProgram } from '../../src/commands/index.ts';
import { MAIN } from '../support/agent.ts';
import { needs } from '../support/needs.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...globSync(['docs/**/*.md', 'packages/*/README.md'], { cwd: ROOT }),
];

interface Block {
  readonly language: string;
  readonly text: string;
  readonly line: number;
  /** Why it is not to be run, from the HTML comment before it: `<!-- not run: … -->`. */
  readonly notRun: string | undefined;
  /** It shows exactly what the commands before it print: `<!-- output -->`. */
  readonly isOutput: boolean;
  /** The file of this repository that it shows whole: "`path`:" stands before it. */
  readonly copyOf: string | undefined;
}

function blocksOf(page: string): Block[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const blocks = text.matchAll(/(?:^`([^`\n]+)`:\n\n)?(?:<!-- ([^\n]*?) -->\n)?^```(\w*)\n([\s\S]*?)^```$/gm);
  return [...blocks].map(({ 1: copyOf, 2: comment, 3: language = '', 4: body = '', index }) => ({
    copyOf,
    language,
    text: body,
    notRun: /^not run: (.*)$/.exec(comment ?? '')?.[1],
    isOutput: comment === 'output',
    line: text.slice(0, index).split('\n').length,
  }));
}

/**
 * Programs of other projects that pages show in blocks that are not run. A block that names another one fails, so that a
 * mistyped name is found.
 */
const OTHER_PROGRAMS = new Set(
  (
    'adcli apk apt-get cat chmod cp cryptsetup ctr curl dd djoin docker dnf echo export git gunzip head install kubeadm kubectl ls mkdir mkfs.ext4 ' +
    'base64 mount openssl packer ping powershell python3 rm rsync scp sed sha256sum ssh sudo systemctl systemd-cat tar tee test umount xargs zstd'
  ).split(' '),
);

/** The commands of a block of shell, without comments, here-documents, `sudo` and the names that stand for their output. */
function commandsOf({ text }: Block): string[] {
  return text
    .replaceAll(/<<-?'?(\w+)'?([^\n]*)\n[\s\S]*?^\1$/gm, '$2')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .map((line) => line.replace(/(^|\s+)#.*$/, ''))
    .flatMap((line) => line.split(/\s(?:\||&&|\|\|)\s|;\s/))
    .map((command) => command.trim().replace(/^(?:sudo |[A-Z_]+=(?:\$\(|\S*$|\S+ ))/, ''))
    .filter((command) => command !== '' && !/^(?:if|then|else|fi|for|do|done|export|cd|set)\b/.test(command));
}

/** What is wrong with a command of machineadm as a page shows it: no such command, or no such option. */
function mistakeOf(line: string): string | undefined {
  let command = createProgram(() => {});
  const options = [...command.options];
  const words = line.split(/\s+/).slice(1);
  for (const word of words) {
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (next !== undefined) {
      command = next;
      options.push(...next.options);
    }
  }
  if (command.parent === null && words[0]?.startsWith('-') !== true) return `no such command: ${line}`;
  const known = new Set(options.flatMap(({ short, long }) => [short, long]).concat('-h', '--help'));
  const unknown = words.filter((word) => /^--?[a-zA-Z]/.test(word)).find((word) => !known.has(word.split('=')[0]));
  return unknown === undefined ? undefined : `${unknown} is no option: ${line}`;
}

describe('the documentation', () => {
  let directory = '';
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'machineadm-docs-'));
    writeFileSync(join(directory, 'machineadm'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
    chmodSync(join(directory, 'machineadm'), 0o755);
  });
  after(() => rmSync(directory, { recursive: true }));

  for (const [number, page] of PAGES.entries()) {
    const all = blocksOf(page);
    /** The blocks of a page share a directory: what one writes, the next ones read. */
    const cwd = (): string => {
      const own = join(directory, String(number));
      mkdirSync(own, { recursive: true });
      return own;
    };
    const blocks = all.filter(({ copyOf }) => copyOf === undefined);
    const programs = new Set<string>();

    for (const { copyOf, text } of all) {
      if (copyOf === undefined) continue;
      test(`${page} shows ${copyOf} as it is`, () => {
        assert.equal(text, readFileSync(join(ROOT, copyOf), 'utf8'));
      });
    }

    for (const [index, block] of blocks.entries()) {
      if (block.language !== 'sh') continue;
      if (block.notRun === undefined) {
        // What the blocks before it need, too: it may read what they write.
        for (const command of commandsOf(block)) programs.add(command.split(/\s+/)[0] ?? '');
        const skip = needs(...[...programs].filter(isProgram));
        test(`${page}:${block.line}: the commands do what they are shown to do`, { skip }, () => {
          const env = { ...process.env, PATH: `${directory}:${process.env.PATH}` };
          const script = `exec 2>&1\n${block.text}`;
          const { status, stdout } = spawnSync('sh', ['-euc', script], { cwd: cwd(), env, encoding: 'utf8' });
          assert.equal(status, 0, stdout);
          const shown = blocks[index + 1];
          if (shown?.isOutput === true)
            assert.equal(stdout, shown.text, 'the page shows other output than the commands print');
        });
        continue;
      }
      test(`${page}:${block.line}: the commands exist (not run: ${block.notRun})`, () => {
        // Another test runs the block of this page where it may change the machine.
        const tested = /^(test\/\S+\.ts) runs it/.exec(block.notRun ?? '')?.[1];
        if (tested !== undefined && readFileSync(join(ROOT, tested), 'utf8').includes(page)) return;
        const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
        const { stderr } = spawnSync('sh', ['-n'], { input: block.text, encoding: 'utf8' });
        assert.equal(stderr, '');
        for (const line of commandsOf(block)) {
          const [program = '', ...words] = line.split(/\s+/);
          if (program === 'machineadm') assert.equal(mistakeOf(line), undefined);
          else if (program === 'npm') {
            const script = words[0] === 'run' ? words[1] : words[0];
            assert.ok(script === 'ci' || Object.hasOwn(scripts, script ?? ''), line);
          } else if (program === 'node') assert.ok(existsSync(join(ROOT, words[0] ?? '')), line);
          else assert.ok(OTHER_PROGRAMS.has(program), `nobody checks this: ${line}`);
        }
      });
    }

    for (const block of blocks.filter(({ language }) => language === 'yaml')) {
      test(`${page}:${block.line}: the document is valid`, async () => {
        // A section alone is shown without the header that every document has.
        const header = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: example}\n';
        const text = /^apiVersion:/m.test(block.text) ? block.text : `${header}${block.text}`;
        const result = await loadDocument([{ name: page, bytes: Buffer.from(text) }], { agentVersion: '0.1.0' });
        assert.equal(result.ok, true, result.ok ? '' : result.problems.map(formatDiagnostic).join('\n'));
      });
    }

    test(`${page}: every link leads to a file of this repository`, () => {
      // Types such as `map[string](string)` are code.
      const text = readFileSync(join(ROOT, page), 'utf8').replaceAll(/`[^`\n]*`/g, '');
      for (const [, target = ''] of text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
        if (!/^https?:/.test(target)) assert.ok(existsSync(join(ROOT, dirname(page), target)), target);
      }
    });
  }

  test('a command with a mistake would be found', () => {
    assert.equal(mistakeOf('machineadm provision -f bootstrap.yaml --timeout 5m'), undefined);
    assert.match(mistakeOf('machineadm provison -f bootstrap.yaml') ?? '', /no such command/);
    assert.match(mistakeOf('machineadm provision --quick -f bootstrap.yaml') ?? '', /--quick is no option/);
  });

  test('docs/commands.md names every command', () => {
    const table = readFileSync(join(ROOT, 'docs/commands.md'), 'utf8');
    const program = createProgram(() => {});
    // Hidden ones are for programs.
    const missing = program
      .createHelp()
      .visibleCommands(program)
      .map((command) => command.name())
      .filter((name) => name !== 'help')
      .filter((name) => !new RegExp(`^\\|.*\`${name}( [a-z]+)?\``, 'm').test(table));
    assert.deepEqual(missing, []);
  });

  test('the page about a run names the exit codes as they are', () => {
    const { exitCodes } = JSON.parse(readFileSync(join(ROOT, 'contract/exit-codes.json'), 'utf8'));
    const known = new Set(exitCodes.map(({ code }: { code: number }) => code));
    const told = [
      ...readFileSync(join(ROOT, 'docs/explanation/a-run.md'), 'utf8').matchAll(/exit (\d+)(?:, (\d+) or (\d+))?/g),
    ];
    assert.ok(told.length > 3);
    for (const [, ...codes] of told)
      for (const code of codes) if (code !== undefined) assert.ok(known.has(Number(code)));
  });
});
