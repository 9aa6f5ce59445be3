import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { parse } from 'yaml';
import { needs } from '../support/needs.ts';

const root = resolve(import.meta.dirname, '../..');
const scratch = mkdtempSync(join(tmpdir(), 'machineadm-contract-types-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

/** Every document of the vectors that the schema takes, as a value. */
const documents: readonly unknown[] = globSync(join(root, 'contract/vectors/*.json'))
  .sort()
  .flatMap((file) => JSON.parse(readFileSync(file, 'utf8')) as { document: string; schema: string }[])
  .filter(({ schema }) => schema === 'valid')
  .map(({ document }) => parse(document));

describe('the types of the document for TypeScript', () => {
  /** What the compiler says of a file with these lines. */
  function compiled(lines: readonly string[]): string {
    const types = join(root, 'contract/types/v1alpha1.d.ts');
    const file = join(scratch, 'documents.ts');
    writeFileSync(file, [`import type { MachineBootstrap } from '${types}';`, ...lines, ''].join('\n'));
    const options = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false', '--types', ''];
    const module = ['--module', 'esnext', '--moduleResolution', 'bundler', '--target', 'es2022'];
    const { stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), [...options, ...module, file], {
      cwd: scratch,
      encoding: 'utf8',
    });
    return stdout;
  }

  test('take every document that the schema takes', () => {
    assert.ok(documents.length > 150, `${documents.length}`);
    const lines = documents.map(
      (value, index) => `export const d${index}: MachineBootstrap = ${JSON.stringify(value)};`,
    );
    assert.equal(compiled(lines), '');
  });

  test('take no unknown field, no other type, and nothing without what is required', () => {
    const header = "apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap'";
    const wrong = [
      `{ ${header}, metadata: { name: 'a' }, host: { hostnam: 'b' } }`,
      `{ ${header}, metadata: { name: 1 } }`,
      `{ ${header}, metadata: {} }`,
      `{ ${header}, metadata: { name: 'a' }, apply: 'Never' }`,
      `{ kind: 'MachineBootstrap', metadata: { name: 'a' } }`,
    ];
    const said = compiled(wrong.map((value, index) => `export const w${index}: MachineBootstrap = ${value};`));
    for (const index of wrong.keys()) assert.match(said, new RegExp(`documents\\.ts\\(${index + 2},`), said);
  });
});

const noGo = needs('go');

describe('the types of the document for Go', { skip: noGo }, () => {
  const own = join(scratch, 'gopath');
  const packages = '/usr/share/gocode';
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: scratch,
    GOCACHE: join(scratch, 'cache'),
    // Debian's packages of Go libraries lie in a GOPATH; nothing is downloaded.
    GO111MODULE: 'off',
    GOPATH: `${own}:${packages}`,
    GOFLAGS: '',
  };
  const built = (name: string): string => {
    const source = join(own, 'src/machineadm.dev/contract/go');
    if (!existsSync(source)) cpSync(join(root, 'contract/go'), source, { recursive: true });
    const program = join(scratch, name);
    execFileSync('go', ['build', '-o', program, `machineadm.dev/contract/go/${name}`], { env, stdio: 'pipe' });
    return program;
  };

  /** Go leaves out what is empty and may be absent. */
  function withoutEmpty(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(withoutEmpty);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([key, one]) => [key, withoutEmpty(one)] as const);
    return Object.fromEntries(
      entries.filter(([, one]) => typeof one !== 'object' || one === null || Object.keys(one).length > 0),
    );
  }

  test('keep every document that the schema takes, and refuse an unknown field', () => {
    const directory = join(own, 'src/machineadm.dev/contract/go/again');
    cpSync(join(root, 'contract/go'), join(own, 'src/machineadm.dev/contract/go'), { recursive: true });
    mkdirSync(directory, { recursive: true });
    writeFileSync(
      join(directory, 'main.go'),
      `package main

import (
	"encoding/json"
	"fmt"
	"os"

	"machineadm.dev/contract/go/v1alpha1"
)

func main() {
	decoder := json.NewDecoder(os.Stdin)
	decoder.DisallowUnknownFields()
	var documents []v1alpha1.MachineBootstrap
	if err := decoder.Decode(&documents); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(documents); err != nil {
		os.Exit(1)
	}
}
`,
    );
    const program = built('again');
    const again = (input: readonly unknown[]) => spawnSync(program, { input: JSON.stringify(input), encoding: 'utf8' });
    const { status, stdout, stderr } = again(documents);
    assert.equal(status, 0, stderr);
    assert.deepEqual(withoutEmpty(JSON.parse(stdout)), withoutEmpty(JSON.parse(JSON.stringify(documents))));
    assert.match(again([{ metadata: { name: 'a' }, host: { hostnam: 'b' } }]).stderr, /unknown field "hostnam"/);
  });

  test('are formatted and vetted, as the example is', () => {
    const sources = globSync(join(root, 'contract/go/**/*.go')).filter((file) => !file.endsWith('/types.go'));
    assert.equal(execFileSync('gofmt', ['-l', ...sources], { encoding: 'utf8' }), '');
    built('v1alpha1');
    execFileSync('go', ['vet', 'machineadm.dev/contract/go/v1alpha1'], { env, stdio: 'pipe' });
  });

  test('are used by the example, which accepts and refuses documents as the vectors require', {
    skip: needs('/usr/share/gocode/src/github.com/xeipuuv/gojsonschema'),
  }, () => {
    const program = built('example');
    const schema = join(root, 'contract/schema/v1alpha1.json');
    const judged = (document: unknown) =>
      spawnSync(program, [schema], { input: JSON.stringify(document), encoding: 'utf8' });
    for (const document of documents.slice(0, 20)) {
      const { status, stderr } = judged(document);
      assert.equal(status, 0, `${JSON.stringify(document)}: ${stderr}`);
    }
    const header = { apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap' };
    const good = judged({ ...header, metadata: { name: 'node-1' } });
    assert.equal(good.stdout, 'name=node-1 role=none\n');
    const bad = judged({ ...header, metadata: { name: 'node-1' }, host: { hostnam: 'b' } });
    assert.deepEqual([bad.status, bad.stderr], [1, 'host: Additional property hostnam is not allowed\n']);
  });
});
