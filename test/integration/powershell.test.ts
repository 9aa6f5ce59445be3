import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { needs } from '../support/needs.ts';
import { npmPackage } from '../support/npm-packages.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** As far as it is used here; https://github.com/tree-sitter/tree-sitter/tree/master/lib/binding_web has the whole. */
interface TreeSitter {
  readonly Parser: { new (): Parser; init(): Promise<void> };
  readonly Language: { load(path: string): Promise<object> };
}
interface Parser {
  setLanguage(language: object): void;
  parse(text: string): { readonly rootNode: SyntaxNode };
}
interface SyntaxNode {
  readonly hasError: boolean;
  readonly isError: boolean;
  readonly isMissing: boolean;
  readonly type: string;
  readonly startPosition: { readonly row: number };
  readonly children: readonly SyntaxNode[];
}

const runtime = npmPackage(
  'web-tree-sitter',
  '0.27.1',
  'sha512-qtx0VyUyNRHtL3ze7+v0hCKB/sLcAmY7ZAVp/ZK/bCj0yED8ptvNrr7Vd7DwDyKDWN9baqcUx4uaD2r2ql+6IA==',
);
const grammar = npmPackage(
  'tree-sitter-powershell',
  '0.26.4',
  'sha512-5RwNW/qN/cKArZY0znvTOG+OWSau7Agel5K0A8KQ5Nubw/4SyZ5KC02RKCaYcA2ur5UQ8esyxe9+6yXup2MXkw==',
);
const skip = needs(runtime, grammar);

/** Every script of Windows PowerShell that the agent runs, by its name. */
async function agentScripts(): Promise<ReadonlyMap<string, string>> {
  const scripts = new Map<string, string>();
  for (const file of globSync('src/host/windows/*.ts', { cwd: ROOT })) {
    const exported: Record<string, unknown> = await import(pathToFileURL(join(ROOT, file)).href);
    for (const value of Object.values(exported)) {
      if (typeof value !== 'object' || value === null || !('name' in value) || !('text' in value)) continue;
      if (typeof value.name === 'string' && typeof value.text === 'string') scripts.set(value.name, value.text);
    }
  }
  return scripts;
}

const scripts = await agentScripts();
const files = globSync('packaging/**/*.ps1', { cwd: ROOT }).sort();

describe('the grammar of PowerShell', { skip }, () => {
  let parser: Parser;
  before(async () => {
    const directory = 'root' in runtime ? runtime.root : '';
    const { Parser, Language }: TreeSitter = await import(pathToFileURL(join(directory, 'web-tree-sitter.js')).href);
    await Parser.init();
    parser = new Parser();
    parser.setLanguage(await Language.load(join('root' in grammar ? grammar.root : '', 'tree-sitter-powershell.wasm')));
  });

  /** Lines of the first mistakes; none where the text is a script. */
  function mistakes(text: string): readonly number[] {
    const lines: number[] = [];
    const look = (node: SyntaxNode): void => {
      if (node.isError || node.isMissing) lines.push(node.startPosition.row + 1);
      else for (const child of node.children) if (child.hasError || child.isMissing) look(child);
    };
    const { rootNode } = parser.parse(text);
    look(rootNode);
    assert.equal(rootNode.hasError, lines.length > 0);
    return lines;
  }

  test('knows a script from what is none', () => {
    assert.deepEqual(mistakes("if ($a -eq 1) { throw 'x' }\n"), []);
    for (const wrong of ['if ($a -eq 1 { }\n', "Write-Output 'x\n", '$a = @{ b = 1\n', 'foreach ($x of $y) { }\n']) {
      assert.notDeepEqual(mistakes(wrong), [], wrong);
    }
  });

  for (const file of files) {
    test(`takes ${file}`, () => assert.deepEqual(mistakes(readFileSync(join(ROOT, file), 'utf8')), []));
  }

  test('takes every script that the agent runs on Windows', () => {
    assert.ok(scripts.size > 5, [...scripts.keys()].join());
    for (const [name, text] of scripts) assert.deepEqual(mistakes(text), [], name);
  });
});

test('the scripts of PowerShell are 7-bit: 5.1 reads one without a mark in the code page of the system', () => {
  assert.ok(files.includes('packaging/windows/install.ps1'));
  for (const file of files)
    assert.ok(
      readFileSync(join(ROOT, file)).every((byte) => byte < 128),
      file,
    );
});
