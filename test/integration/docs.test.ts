import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { formatDiagnostic } from '@machineadm/document/diagnostics.ts';
import { loadDocument } from '@machineadm/document/load.ts';
import { createProgram } from '../../src/cli/program.ts';
import { agent, MAIN } from '../support/agent.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...globSync('docs/**/*.md', { cwd: ROOT })];

interface Block {
  readonly language: string;
  readonly text: string;
  readonly line: number;
  /** Why it is not to be run, from the HTML comment before it: `<!-- not run: … -->`. */
  readonly notRun: string | undefined;
  /** The file of this repository that it shows whole: "`path`:" stands before it. */
  readonly copyOf: string | undefined;
}

function blocksOf(page: string): Block[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const blocks = text.matchAll(/(?:^`([^`\n]+)`:\n\n)?(?:<!-- not run: ([^\n]*?) -->\n)?^```(\w*)\n([\s\S]*?)^```$/gm);
  return [...blocks].map(({ 1: copyOf, 2: notRun, 3: language = '', 4: body = '', index }) => ({
    copyOf,
    language,
    text: body,
    notRun,
    line: text.slice(0, index).split('\n').length,
  }));
}

/** The command lines of a block of shell, without their comments. */
function commandsOf({ text }: Block): string[] {
  return text
    .split('\n')
    .map((line) => line.replace(/(^|\s+)#.*$/, '').trim())
    .filter((line) => line !== '');
}

describe('the documentation', () => {
  let directory = '';
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'machineadm-docs-'));
    writeFileSync(join(directory, 'machineadm'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
    chmodSync(join(directory, 'machineadm'), 0o755);
  });
  after(() => rmSync(directory, { recursive: true }));

  for (const page of PAGES) {
    const all = blocksOf(page);
    const blocks = all.filter(({ copyOf }) => copyOf === undefined);

    for (const { copyOf, text } of all) {
      if (copyOf === undefined) continue;
      test(`${page} shows ${copyOf} as it is`, () => {
        assert.equal(text, readFileSync(join(ROOT, copyOf), 'utf8'));
      });
    }

    for (const block of blocks.filter(({ language }) => language === 'sh')) {
      if (block.notRun === undefined) {
        test(`${page}:${block.line}: the commands do what they are shown to do`, () => {
          const env = { ...process.env, PATH: `${directory}:${process.env.PATH}` };
          const { status, stderr } = spawnSync('sh', ['-euc', block.text], { cwd: directory, env, encoding: 'utf8' });
          assert.equal(status, 0, stderr);
        });
        continue;
      }
      test(`${page}:${block.line}: the commands exist (not run: ${block.notRun})`, async () => {
        // Another test runs the block of this page where it may change the machine.
        const tested = /^(test\/\S+\.ts) runs it/.exec(block.notRun ?? '')?.[1];
        if (tested !== undefined && readFileSync(join(ROOT, tested), 'utf8').includes(page)) return;
        const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
        for (const line of commandsOf(block)) {
          const [program, ...words] = line.split(/\s+/);
          if (program === 'machineadm') {
            const { status, stderr } = await agent([...words, '--help']);
            assert.deepEqual([status, stderr], [0, ''], line);
          } else if (program === 'npm') {
            const script = words[0] === 'run' ? words[1] : words[0];
            assert.ok(script === 'ci' || Object.hasOwn(scripts, script ?? ''), line);
          } else assert.fail(`nobody checks this: ${line}`);
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
      const text = readFileSync(join(ROOT, page), 'utf8');
      for (const [, target = ''] of text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
        if (!/^https?:/.test(target)) assert.ok(existsSync(join(ROOT, dirname(page), target)), target);
      }
    });
  }

  test('README.md names every command', () => {
    const table = readFileSync(join(ROOT, 'README.md'), 'utf8');
    const missing = createProgram(() => {})
      .commands.map((command) => command.name())
      // Internal ones are for programs.
      .filter((name) => !name.startsWith('__'))
      .filter((name) => !new RegExp(`^\\|.*\`${name}( [a-z]+)?\``, 'm').test(table));
    assert.deepEqual(missing, []);
  });

  test('README.md names the exit codes as they are', () => {
    const { exitCodes } = JSON.parse(readFileSync(join(ROOT, 'contract/exit-codes.json'), 'utf8'));
    const known = new Set(exitCodes.map(({ code }: { code: number }) => code));
    const told = [...readFileSync(join(ROOT, 'README.md'), 'utf8').matchAll(/exit (\d+)(?:, (\d+) or (\d+))?/g)];
    assert.ok(told.length > 3);
    for (const [, ...codes] of told)
      for (const code of codes) if (code !== undefined) assert.ok(known.has(Number(code)));
  });
});
