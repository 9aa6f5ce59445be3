import { formatPath, type PathSegment } from '@machineadm/document/diagnostics/index.ts';
import { isExpandable } from '@machineadm/document/sections/variables.ts';
import { Verbatim } from '@machineadm/document/values/verbatim.ts';
import type { Report } from '../report/report.ts';
import { type Expressions, hasMark, MARK } from '../texts/jinja.ts';
import { isMap } from '../values/map.ts';

/** Where the value of a variable of the converted document comes from. */
export type VariableSection = { readonly instanceData: string } | { readonly file: string };

/**
 * The document's reference to a variable, `${name}`; the same text is escaped as `$${name}` where it would be replaced.
 */
const REFERENCE = /\$\{(?=[A-Za-z_][A-Za-z0-9_]*\})/g;

/**
 * The variables of one document. Marks of expressions become `${name}` at the end, when their place in the document is
 * known: a field that does not support variables is an error, one that supports them on demand (`expand: true`) enables
 * them.
 */
export class Variables {
  readonly #sources = new Map<string, VariableSection>();
  readonly #expressions: Expressions;

  constructor(expressions: Expressions) {
    this.#expressions = expressions;
  }

  /** The `variables` section; undefined when there are none. */
  get section(): Readonly<Record<string, VariableSection>> | undefined {
    return this.#sources.size === 0 ? undefined : Object.fromEntries(this.#sources);
  }

  /** A variable with another source than instance data; returns its mark. */
  define(name: string, source: VariableSection): string {
    this.#sources.set(name, source);
    return this.#expressions.mark(`=${name}`);
  }

  /** The document with every mark replaced, and every text escaped that would be taken for a variable. */
  place(document: unknown, report: Report, object: string): unknown {
    const demanding = demandExpansion(document);
    const walk = (value: unknown, path: readonly PathSegment[]): unknown => {
      if (typeof value === 'string') return this.#settle(value, path, demanding, report, object);
      if (Array.isArray(value)) return value.map((item, index) => walk(item, [...path, index]));
      if (typeof value !== 'object' || value === null || value instanceof Verbatim) return value;
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item, [...path, key])]));
    };
    return walk(demanding, []);
  }

  #settle(text: string, path: readonly PathSegment[], document: unknown, report: Report, object: string): string {
    const expands = isExpandable(path, document);
    if (!hasMark(text)) return expands ? text.replace(REFERENCE, '$$$${') : text;
    const place = formatPath(path);
    if (!expands) {
      // A name that is hard to read: the expression itself is clearer.
      const expressions = [...text.matchAll(MARK)].map(([, index = '']) => this.#expressions.path(index) ?? '');
      report.add('VariableNotAllowed', object, `${place}: ${expressions.join(', ')}`);
      return this.#expressions.replace(text, (expression) => `{{ ${expression} }}`);
    }
    const escaped = text.replace(REFERENCE, '$$$${');
    return this.#expressions.replace(escaped, (expression) => `\${${this.#nameOf(expression, report, object)}}`);
  }

  #nameOf(expression: string, report: Report, object: string): string {
    if (expression.startsWith('=')) return expression.slice(1);
    const name = expression.replace(/[^A-Za-z0-9_]+/g, '_');
    this.#sources.set(name, { instanceData: expression });
    report.add('VariableMade', object, `${expression} is \${${name}}`);
    return name;
  }
}

/** Sets `expand: true` on files and hooks that contain a mark. */
function demandExpansion(document: unknown): unknown {
  if (!isMap(document) || !isMap(document.host)) return document;
  const { files, hooks } = document.host;
  const host: Record<string, unknown> = { ...document.host };
  if (Array.isArray(files)) {
    host.files = files.map((file: unknown) =>
      isMap(file) && typeof file.content === 'string' && hasMark(file.content) ? { ...file, expand: true } : file,
    );
  }
  if (isMap(hooks)) {
    host.hooks = Object.fromEntries(
      Object.entries(hooks).map(([name, group]) => [
        name,
        isMap(group) && Array.isArray(group.commands) && group.commands.some((command) => hasMark(String(command)))
          ? { ...group, expand: true }
          : group,
      ]),
    );
  }
  return { ...document, host };
}
