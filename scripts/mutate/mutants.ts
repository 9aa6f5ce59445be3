import { stripTypeScriptTypes } from 'node:module';
import { type Node, parse } from 'acorn';
import { child, stringField, visit } from './syntax.ts';

/** One small change of a source that resembles a mistake of a developer. */
export interface Mutant {
  readonly file: string;
  /** Of the text that is replaced. */
  readonly start: number;
  readonly end: number;
  readonly line: number;
  readonly replacement: string;
  /** The kind of change, by Stryker's name (https://stryker-mutator.io/docs/mutation-testing-elements/supported-mutators/). */
  readonly mutator: string;
}

type Change = Pick<Mutant, 'start' | 'end' | 'replacement' | 'mutator'>;

const EQUALITY: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
};
const ARITHMETIC: Readonly<Record<string, string>> = { '+': '-', '-': '+', '*': '/', '/': '*', '%': '*' };
const LOGICAL: Readonly<Record<string, string>> = { '&&': '||', '||': '&&', '??': '&&' };
const METHODS: Readonly<Record<string, string>> = {
  some: 'every',
  every: 'some',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
  min: 'max',
  max: 'min',
  toLowerCase: 'toUpperCase',
  toUpperCase: 'toLowerCase',
};
/** Methods whose call is removed: the object itself becomes the result. */
const DROPPED_METHODS = new Set(['filter', 'sort', 'reverse', 'trim', 'slice']);

/**
 * All mutants of a source, in the order of the text. Messages (strings with a space, and templates) are not changed, because
 * tests do not check every word.
 */
export function mutantsOf(file: string, text: string): readonly Mutant[] {
  // The types become blanks, so that all offsets stay the same.
  const code = stripTypeScriptTypes(text, { mode: 'strip' });
  const changes: Change[] = [];
  visit(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), undefined, (node, parent) => {
    changes.push(...changesOf(node, parent, code));
  });
  return changes
    .filter(({ start, end, replacement }) => text.slice(start, end) !== replacement)
    .sort((a, b) => a.start - b.start || a.end - b.end)
    .map((change) => ({ file, line: text.slice(0, change.start).split('\n').length, ...change }));
}

/**
 * The offset whose coverage decides which tests are relevant. A logical operator depends on its left operand, but V8 counts
 * the operator as part of the right operand, which may not have run.
 */
export function placeOf({ mutator, start }: Mutant): number {
  return mutator === 'LogicalOperator' ? start - 1 : start;
}

/** The text with the change made. */
export function mutated(text: string, { start, end, replacement }: Mutant): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

function changesOf(node: Node, parent: Node | undefined, text: string): readonly Change[] {
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression':
      return toBoolean(child(node, 'test'), ['true', 'false']);
    case 'WhileStatement':
    case 'ForStatement':
      return toBoolean(child(node, 'test'), ['false']);
    case 'BinaryExpression':
      return binary(node, text);
    case 'LogicalExpression':
      return operator(node, text, LOGICAL, 'LogicalOperator');
    case 'UnaryExpression':
      return unary(node);
    case 'UpdateExpression':
      return operatorOf(node, text, stringField(node, 'operator') === '++' ? '--' : '++', 'UpdateOperator');
    case 'Literal':
      return literal(node, parent);
    case 'ArrayExpression': {
      const elements: unknown = Reflect.get(node, 'elements');
      const isEmpty = Array.isArray(elements) && elements.length === 0;
      return isEmpty ? [] : [change(node, '[]', 'ArrayDeclaration')];
    }
    case 'BlockStatement': {
      const body: unknown = Reflect.get(node, 'body');
      const isOfSome = /Function|IfStatement|ForOf|TryStatement|CatchClause/.test(parent?.type ?? '');
      // Without an `else` it would be the same mutant as `false` for the condition.
      const isOnlyBranch = parent?.type === 'IfStatement' && child(parent, 'alternate') === undefined;
      return isOfSome && !isOnlyBranch && Array.isArray(body) && body.length > 0
        ? [change(node, '{}', 'BlockStatement')]
        : [];
    }
    case 'CallExpression':
      return call(node);
    default:
      return [];
  }
}

function change({ start, end }: { start: number; end: number }, replacement: string, mutator: string): Change {
  return { start, end, replacement, mutator };
}

function toBoolean(test: Node | undefined, values: readonly string[]): readonly Change[] {
  return test === undefined ? [] : values.map((value) => change(test, value, 'ConditionalExpression'));
}

function binary(node: Node, text: string): readonly Change[] {
  const sides = [child(node, 'left'), child(node, 'right')];
  const isText = sides.some((side) => side?.type === 'TemplateLiteral' || typeof constantOf(side) === 'string');
  if (stringField(node, 'operator') === '+' && isText) return [];
  return [
    ...operator(node, text, EQUALITY, 'EqualityOperator'),
    ...operator(node, text, ARITHMETIC, 'ArithmeticOperator'),
  ];
}

function operator(
  node: Node,
  text: string,
  table: Readonly<Record<string, string>>,
  mutator: string,
): readonly Change[] {
  const instead = table[stringField(node, 'operator')];
  return instead === undefined ? [] : operatorOf(node, text, instead, mutator);
}

/** The operator itself stands between its operands, or at one end of its one operand. */
function operatorOf(node: Node, text: string, instead: string, mutator: string): readonly Change[] {
  const sign = stringField(node, 'operator');
  const from = child(node, 'left')?.end ?? node.start;
  const start = text.indexOf(sign, from);
  return start < 0 || start >= node.end ? [] : [change({ start, end: start + sign.length }, instead, mutator)];
}

function unary(node: Node): readonly Change[] {
  const argument = child(node, 'argument');
  if (argument === undefined || stringField(node, 'operator') !== '!') return [];
  return [change({ start: node.start, end: argument.start }, '', 'BooleanLiteral')];
}

function constantOf(node: Node | undefined): unknown {
  return node?.type === 'Literal' ? Reflect.get(node, 'value') : undefined;
}

function literal(node: Node, parent: Node | undefined): readonly Change[] {
  const value = constantOf(node);
  if (typeof value === 'boolean') return [change(node, String(!value), 'BooleanLiteral')];
  const isName = parent !== undefined && child(parent, 'key') === node && Reflect.get(parent, 'computed') !== true;
  const isModule = parent?.type === 'ImportExpression' || /^(Import|Export)/.test(parent?.type ?? '');
  if (typeof value !== 'string' || value === '' || /\s/.test(value) || isName || isModule) return [];
  return [change(node, "''", 'StringLiteral')];
}

function call(node: Node): readonly Change[] {
  const callee = child(node, 'callee');
  const [object, property] =
    callee?.type === 'MemberExpression' ? [child(callee, 'object'), child(callee, 'property')] : [];
  if (object === undefined || property === undefined || property.type !== 'Identifier') return [];
  const name = stringField(property, 'name');
  const instead = METHODS[name];
  if (instead !== undefined) return [change(property, instead, 'MethodExpression')];
  return DROPPED_METHODS.has(name) ? [change({ start: object.end, end: node.end }, '', 'MethodExpression')] : [];
}
