import { stripTypeScriptTypes } from 'node:module';
import { type Node, parse } from 'acorn';
import { child, visit } from './syntax.ts';

/** A unit of coverage: the source itself, the body of a function, or another block statement, without the blocks inside it. */
export interface Block {
  readonly start: number;
  readonly end: number;
  /** True for an arrow function whose body is an expression. */
  readonly isExpression: boolean;
}

/** The blocks of a source, the source itself first. */
export function blocksOf(code: string): readonly Block[] {
  const blocks: Block[] = [{ start: 0, end: code.length, isExpression: false }];
  visit(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), undefined, (node: Node) => {
    const body = node.type === 'ArrowFunctionExpression' ? child(node, 'body') : undefined;
    if (node.type === 'BlockStatement') blocks.push({ start: node.start, end: node.end, isExpression: false });
    else if (body !== undefined && body.type !== 'BlockStatement')
      blocks.push({ start: body.start, end: body.end, isExpression: true });
  });
  return blocks;
}

/** The start of the smallest block that contains this offset. */
export function blockAt(blocks: readonly Block[], offset: number): number {
  const around = blocks.filter(({ start, end }) => start <= offset && offset < end);
  return Math.max(0, ...around.map(({ start }) => start));
}

/** The source, in JavaScript, with a call of `ran` (ran.ts) at the beginning of each block. */
export function withProbes(file: string, text: string): string {
  const code = withoutTypes(text);
  const insertions = blocksOf(code)
    .slice(1)
    .flatMap(({ start, end, isExpression }) =>
      isExpression
        ? [
            { at: start, what: `(machineadmRan(${start}),` },
            { at: end, what: ')' },
          ]
        : [{ at: start + 1, what: `machineadmRan(${start});` }],
    )
    .sort((a, b) => a.at - b.at);
  let [probed, done] = ['', 0];
  for (const { at, what } of insertions) {
    probed += code.slice(done, at) + what;
    done = at;
  }
  const ran = JSON.stringify(`${import.meta.dirname}/ran.ts`);
  const first = `import { ran as machineadmRanOf } from ${ran};const machineadmRan = machineadmRanOf(${JSON.stringify(file)});machineadmRan(0);`;
  return first + probed + code.slice(done);
}

/** Replaces the types in a source with blanks, so that all offsets stay the same. */
export function withoutTypes(text: string): string {
  return stripTypeScriptTypes(text, { mode: 'strip' });
}
