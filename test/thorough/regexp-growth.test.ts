import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { type Node, parse } from 'acorn';
import { transformSync } from 'esbuild';
import { attack } from '../support/attacks.ts';
import { superlinearParts } from '../support/regexp-growth.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const SOURCES = globSync(['src/**/*.ts', 'packages/*/src/**/*.ts'], { cwd: ROOT }).sort();

describe('the judge of regular expressions', () => {
  const cases: readonly (readonly [RegExp, readonly string[]])[] = [
    [/a+/, []],
    [/a+$/, ['a+']],
    [/(?<!a)a+$/, []],
    [/(a+)+$/, ['(a+)+', 'a+']],
    [/^(a|a)*$/, ['(a|a)*']],
    [/^(a|b)*$/, []],
    [/^(?:a?b?)*c/, ['(?:a?b?)*']],
    [/"[^"]*"/, []],
    [/x.*y/, ['.*']],
    [/x.{0,50}y/, []],
    [/^.*y/, []],
    [/^.*y.*z/, ['.*']],
    [/^.*y/m, []],
    [/^\s*y/m, ['\\s*']],
    [/^[^\S\n]*y/m, ['[^\\S\\n]*']],
    [/^[ \t]*y/m, []],
    [/=\S+ \S+$/, ['\\S+']],
    [/foo \S+: bar/, []],
    [/^\s*(.*?)\s*$/, ['.*?', '\\s*']],
    [/\b\w+:/, []],
    [/\w+:/, ['\\w+']],
    [/\w+:/y, []],
    [/(?<=a)b+c/, []],
    [/^(\w+\.)+$/, []],
    [/^(\w+\.?)+$/, ['(\\w+\\.?)+', '\\w+']],
    [/^(?!.*a).*b/, []],
    [/^(.*)x\1$/, ['\\1']],
    [/^(?:ab)*[abc]*z/, ['[abc]*']],
    [/^(?:ab)*(?:ac)*z/, []],
    [/^(?:ab)*(?:abc?)*z/, ['(?:abc?)*']],
    [/^(?:0*:)*:?0*1$/, []],
    [/^(?:\.[a-z](?:[-a-z]*[a-z])?)*$/, []],
    [/^[a-z](?:[-a-z]*[a-z])?(?:\.[a-z](?:[-a-z]*[a-z])?)*$/, []],
    [/^[a-z]*[a-z][-a-z]*$/, ['[-a-z]*']],
    [/^(?:\.[a-z](?:[-a-z.]*[a-z])?)*$/, ['(?:\\.[a-z](?:[-a-z.]*[a-z])?)*', '[-a-z.]*']],
    [/^(?:\.(?:a|a))*$/, ['(?:\\.(?:a|a))*']],
    [/^(?:,(?:a|ab|b))*$/, []],
    [/^(?:,?(?:a|ab|b))*$/, ['(?:,?(?:a|ab|b))*']],
    [/^(?:,[a-z]*[a-z]*)*$/, ['(?:,[a-z]*[a-z]*)*', '[a-z]*']],
    [/^(?:,[a-z]{0,61}[a-z]{0,61})*$/, ['(?:,[a-z]{0,61}[a-z]{0,61})*']],
    [/^(?:,[a-z]{2}[a-z]{0,3})*$/, []],
    [/^(?:,[a-z]{1,2}[a-z]{0,3})*$/, ['(?:,[a-z]{1,2}[a-z]{0,3})*']],
    [/^(?:\d+(?:\.\d*)?[ms])+$/, []],
    [/^(?:\d+(?:\.\d*)?(?:m|s|ms))+$/, []],
    [/^(?:\d+(?:\.\d*)?(?:m|s|ms)?)+$/, ['(?:\\d+(?:\\.\\d*)?(?:m|s|ms)?)+', '\\d+']],
    [/^(?:,(?:a*|b*))*$/, ['(?:,(?:a*|b*))*']],
  ];
  for (const [expression, parts] of cases) {
    test(`finds ${parts.length === 0 ? 'nothing' : parts.join(' and ')} in ${expression}`, () => {
      assert.deepEqual(superlinearParts(expression), parts);
    });
  }
});

/** The literals of all sources. Those that a program composes are below. */
describe('no regular expression over what others wrote takes more than linear time', () => {
  for (const file of SOURCES) {
    const literals = literalsIn(readFileSync(resolve(ROOT, file), 'utf8'));
    if (literals.length === 0) continue;
    test(
      file,
      attack('Hostile texts', 'a text that makes an expression of the sources slow', () => {
        for (const literal of literals) assert.deepEqual(superlinearParts(literal), [], `/${literal.source}/`);
        return literals.length;
      }),
    );
  }

  test(
    'those that modules compose when they are loaded, the catalogue and the detectors of secrets among them',
    attack('Hostile texts', 'a log that makes a pattern of the catalogue or a detector slow', async () => {
      const composed = await composedBy(async () => {
        const { CATALOGUE, NOISE } = await import('@machineadm/failures/catalogue.ts');
        for (const file of SOURCES) {
          const path = resolve(ROOT, file);
          if (readFileSync(path, 'utf8').includes('new RegExp(')) await import(path);
        }
        const { redact } = await import('@machineadm/document/redaction.ts');
        redact('password=hunter2');
        return [...CATALOGUE, ...NOISE].map(({ pattern }) => pattern);
      });
      assert.ok(composed.length > 230, `only ${composed.length} expressions were seen`);
      for (const expression of composed) assert.deepEqual(superlinearParts(expression), [], String(expression));
      return composed.length;
    }),
  );
});

type Literal = Pick<RegExp, 'source' | 'flags'>;

function literalsIn(source: string): readonly Literal[] {
  const { code } = transformSync(source, { loader: 'ts', format: 'esm' });
  const found: Literal[] = [];
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const item of node) visit(item);
    else if (isNode(node)) {
      if ('regex' in node) {
        const { pattern, flags } = node.regex as { readonly pattern: string; readonly flags: string };
        found.push({ source: pattern, flags });
      }
      for (const child of Object.values(node)) visit(child);
    }
  };
  visit(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }));
  return found;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}

/** The expressions that `new RegExp` makes meanwhile, and those that the work gives. */
async function composedBy(work: () => Promise<readonly RegExp[]>): Promise<readonly RegExp[]> {
  const made: RegExp[] = [];
  const original = globalThis.RegExp;
  globalThis.RegExp = new Proxy(original, {
    construct(target, words: [string | RegExp, string?]) {
      const expression = new target(...words);
      made.push(expression);
      return expression;
    },
  });
  try {
    return [...(await work()), ...made];
  } finally {
    globalThis.RegExp = original;
  }
}
