import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { exampleDocument, type Role } from '@machineadm/document/index.ts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { PAGES } from '../../scripts/generate/editor-schema.ts';
import { LanguageServer } from '../support/language-server.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const SCHEMA = join(ROOT, 'contract/editor/v1alpha1.json');
const schema: Record<string, unknown> = JSON.parse(readFileSync(SCHEMA, 'utf8'));
const ROLES: readonly Role[] = ['InitControlPlane', 'JoinControlPlane', 'Worker'];
const MODELINE = '# yaml-language-server: $schema=machineadm.schema.json';
const HEAD = `# yaml-language-server: $schema=${pathToFileURL(SCHEMA).href}\napiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: node-1}\n`;

describe('the schema for editors', () => {
  const keywords = ['markdownDescription', 'patternErrorMessage', 'enumDescriptions'];
  const accepts = new Ajv2020({ strict: true, keywords }).compile(schema);

  test('accepts the examples, which name it in their first line', async () => {
    const { parse } = await import('yaml');
    for (const role of ROLES) {
      const text = exampleDocument(role);
      assert.equal(text.split('\n')[0], MODELINE);
      assert.ok(accepts(parse(text)), JSON.stringify(accepts.errors));
    }
  });

  test('has a message of its own for each pattern, and no broken link', () => {
    const patterns = partsWithPattern(schema);
    assert.ok(patterns.length > 100, String(patterns.length));
    for (const { pattern, patternErrorMessage } of patterns)
      assert.match(String(patternErrorMessage), /\.$| Example: /, String(pattern));
    for (const page of Object.values(PAGES)) assert.ok(existsSync(join(ROOT, `docs/${page}.md`)), page);
  });
});

describe('an editor', { timeout: 300_000 }, () => {
  let server: LanguageServer;
  before(async () => {
    server = new LanguageServer();
    await server.initialize();
  });
  after(async () => await server?.[Symbol.asyncDispose]());

  let count = 0;
  const opened = async (body: string) => {
    count += 1;
    const uri = `file:///tmp/document-${count}.yaml`;
    const text = `${HEAD}${body}`;
    const diagnostics = await server.open(uri, text);
    const line = text.split('\n').length - 1;
    const position = { line, character: text.split('\n')[line]?.length ?? 0 };
    return { uri, diagnostics, at: { textDocument: { uri }, position } };
  };
  const completed = async (body: string): Promise<readonly string[]> => {
    const { at } = await opened(body);
    const result = (await server.request('textDocument/completion', at)) as { items: readonly { label: string }[] };
    return result.items.map(({ label }) => label);
  };

  for (const role of ROLES) {
    test(`finds nothing wrong in the example of ${role}`, async () => {
      const text = exampleDocument(role).replace('machineadm.schema.json', pathToFileURL(SCHEMA).href);
      assert.deepEqual(await server.open(`file:///tmp/${role}.yaml`, text), []);
    });
  }

  const completions: readonly (readonly [string, string, readonly string[]])[] = [
    ['the fields of a section', 'host:\n  ', ['sysctl', 'swap', 'storage', 'hostname']],
    ['the values of a field', 'host:\n  swap: ', ['Disabled', 'Unmanaged']],
    ['the roles of a machine', 'kubernetes:\n  role: ', ['InitControlPlane', 'JoinControlPlane', 'Worker']],
    ['the kinds of a sink', 'reporting:\n  sinks:\n    - type: ', ['Webhook', 'Journal', 'Console']],
  ];
  for (const [what, body, expected] of completions) {
    test(`completes ${what}`, async () => {
      const labels = await completed(body);
      assert.deepEqual(
        expected.filter((label) => !labels.includes(label)),
        [],
        labels.join(),
      );
    });
  }

  test('shows the path of a field and what it is for, with links', async () => {
    const { uri } = await opened('host:\n  swap: Disabled\n');
    const position = { line: HEAD.split('\n').length, character: 4 };
    const hover = (await server.request('textDocument/hover', { textDocument: { uri }, position })) as {
      contents: { kind: string; value: string };
    };
    assert.equal(hover.contents.kind, 'markdown');
    assert.match(hover.contents.value, /Disabled switches swap off/);
    assert.match(hover.contents.value, /^#### host\.swap\n/);
    assert.match(
      hover.contents.value,
      /\[Reference\]\(https:\/\/machineadm\.dev\/docs\/reference\/fields\/host\.html#hostswap\)/,
    );
    assert.match(hover.contents.value, /\[Guide\]\(https:\/\/machineadm\.dev\/docs\/\w[\w-]*\.html\)/);
  });

  const mistakes: readonly (readonly [string, string, RegExp])[] = [
    [
      'a name of the wrong form',
      'host:\n  kernelModules: [a b]\n',
      /wrong form\. Kernel modules that are loaded now and at every boot\. Example: /,
    ],
    ['an unknown field', 'host:\n  swop: Disabled\n', /swop is not allowed/],
    ['a value of no list', 'host:\n  swap: Off\n', /"Unmanaged".*"Disabled"|"Disabled".*"Unmanaged"/],
    ['a wrong type', 'host:\n  kernelModules: overlay\n', /Expected "array"/],
  ];
  for (const [what, body, expected] of mistakes) {
    test(`reports ${what} at its place, without showing a pattern`, async () => {
      const { diagnostics } = await opened(body);
      assert.equal(diagnostics.length, 1, JSON.stringify(diagnostics));
      const [{ message, range } = assert.fail()] = diagnostics;
      assert.match(message, expected);
      assert.doesNotMatch(message, /\^|\$|\(\?/);
      assert.equal(range.start.line, HEAD.split('\n').length);
    });
  }
});

/** Every part with a pattern; what is in an example or a default is none. */
function partsWithPattern(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (Array.isArray(value)) return value.flatMap(partsWithPattern);
  if (typeof value !== 'object' || value === null) return [];
  const part = value as Readonly<Record<string, unknown>>;
  const below = Object.entries(part).flatMap(([key, child]) =>
    ['examples', 'default', 'const', 'enum'].includes(key) ? [] : partsWithPattern(child),
  );
  return typeof part.pattern === 'string' ? [part, ...below] : below;
}
