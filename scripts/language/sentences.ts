import { stripTypeScriptTypes } from 'node:module';
import { type Node, parse } from 'acorn';

/** The kind of a text: a page, a string of a module, or a comment. */
export type TextKind = 'docs' | 'messages' | 'comments';

/** A text for readers, extracted from a file with its line breaks. */
export interface Sentence {
  readonly kind: TextKind;
  readonly text: string;
  /** The line on which it begins, from 1. */
  readonly line: number;
}

/** The prose of a Markdown page. Code, link targets, quotations and comments are blanked out. */
export function prose(markdown: string): Sentence {
  const text = markdown
    .replace(/^( *)(```+|~~~+)[^\n]*\n[\s\S]*?^\1\2[^\n]*$/gm, blanked)
    .replace(/<!--[\s\S]*?-->/g, blanked)
    .replace(/(`+)[^`][\s\S]*?\1/g, (code) => code.replace(/[^\n|]/g, '·'))
    .replace(/“[^”\n]*”/g, blanked)
    .replace(/\]\([^)\n]*\)/g, (target) => `]${' '.repeat(target.length - 1)}`);
  return { kind: 'docs', text, line: 1 };
}

/**
 * The comments of a TypeScript module, and its strings of more than one word: messages, remedies, help, descriptions.
 * Interpolated values and code between backticks become `·`.
 */
export function sentencesOf(source: string): readonly Sentence[] {
  const sentences: Sentence[] = [];
  const code = stripTypeScriptTypes(source, { mode: 'strip' });
  const add = (kind: TextKind, text: string, line: number): void => {
    if (/\p{L}{2,}\s+\p{L}/u.test(text)) sentences.push({ kind, text, line });
  };
  const tree = parse(code, {
    ecmaVersion: 'latest',
    sourceType: 'module',
    locations: true,
    onComment: (_isBlock, text, _start, _end, begin) => {
      add('comments', text.replace(/^\s*\* ?/gm, ' '), begin?.line ?? 1);
    },
  });
  visit(tree, (node) => {
    const line = node.loc?.start.line ?? 1;
    if (isLiteral(node) && typeof node.value === 'string') add('messages', withoutCode(node.value), line);
    if (isTemplate(node))
      add('messages', withoutCode(node.quasis.map(({ value }) => value.cooked ?? '').join('·')), line);
  });
  return sentences;
}

/** Removes text that is not prose: whole scripts, and code between backticks. */
function withoutCode(text: string): string {
  if (/^#!|^<\?xml|^[^\n]*\n.*\b(?:fi|done|end)\b\s*$/s.test(text)) return '';
  return text.replace(/`[^`\n]*`/g, '·');
}

function blanked(text: string): string {
  return text.replace(/[^\n]/g, ' ');
}

type Literal = Node & { readonly value: unknown };
type Template = Node & { readonly quasis: readonly { readonly value: { readonly cooked?: string | null } }[] };

function isLiteral(node: Node): node is Literal {
  return node.type === 'Literal';
}

function isTemplate(node: Node): node is Template {
  return node.type === 'TemplateLiteral';
}

function visit(value: unknown, see: (node: Node) => void): void {
  if (Array.isArray(value)) for (const one of value) visit(one, see);
  if (!isNode(value)) return;
  if (/^(?:Import|ExportAll)/.test(value.type)) return;
  see(value);
  for (const [key, child] of Object.entries(value)) if (key !== 'loc') visit(child, see);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}
