import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Node, parse } from 'acorn';
import { transformSync } from 'esbuild';

const ROOT = resolve(import.meta.dirname, '../..');

/** The sources of the agent and of the packages, from the root of the checkout. */
export const SOURCES = globSync(['src/**/*.ts', 'packages/*/src/**/*.ts'], { cwd: ROOT }).sort();

export type Expression = Pick<RegExp, 'source' | 'flags'>;

/** The literals of a file of {@link SOURCES}. */
export function literalsIn(file: string): readonly Expression[] {
  const { code } = transformSync(readFileSync(resolve(ROOT, file), 'utf8'), { loader: 'ts', format: 'esm' });
  const found: Expression[] = [];
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

/** The expressions that modules compose when they are loaded, the catalogue and the detectors of secrets among them. */
export function composedExpressions(): Promise<readonly RegExp[]> {
  return composedBy(async () => {
    const { CATALOGUE, NOISE } = await import('@machineadm/failures/catalogue.ts');
    for (const file of SOURCES) {
      const path = resolve(ROOT, file);
      if (readFileSync(path, 'utf8').includes('new RegExp(')) await import(path);
    }
    const { redact } = await import('@machineadm/document/redaction/process-redactor.ts');
    redact('password=hunter2');
    return [...CATALOGUE, ...NOISE].map(({ pattern }) => pattern);
  });
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
