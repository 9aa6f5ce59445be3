import type { Functions } from './functions.ts';
import { type Branch, type Command, type Node, type Operand, type Pipe, parseTemplate } from './parse.ts';
import { GoTemplateError } from './tokens.ts';
import {
  isList,
  isObject,
  isTrue,
  Opaque,
  printed,
  requireShort,
  sizeOf,
  sortedKeys,
  typeOf,
  type Value,
} from './values.ts';

/** Loops in loops multiply, and so do values that are put into each other: what a template may do at most. */
const MOST_STEPS = 500_000;

/**
 * What Go's text/template prints. Throws a `GoTemplateError` for what Go refuses too, for a value or function that is not known
 * here, and where it would print `<no value>`.
 */
export function renderGoTemplate(template: string, data: Value, functions: Functions): string {
  const rendering = new Rendering(data, functions);
  rendering.nodes(parseTemplate(template), data);
  return rendering.text;
}

class Rendering {
  readonly #functions: Functions;
  #variables: { readonly name: string; value: Value }[];
  #steps = 0;
  text = '';

  constructor(data: Value, functions: Functions) {
    this.#functions = functions;
    this.#variables = [{ name: '$', value: data }];
  }

  /** @returns what ends the loop around it */
  nodes(nodes: readonly Node[], dot: Value): 'break' | 'continue' | undefined {
    for (const node of nodes) {
      this.#spend(1);
      if (node.kind === 'text') this.#print(node.text);
      else if (node.kind === 'print') {
        const value = this.#pipe(node.pipe, dot);
        if (node.pipe.variables.length === 0) this.#print(printed(value));
      } else if (node.kind === 'break' || node.kind === 'continue') return node.kind;
      else {
        const known = this.#variables.length;
        const end = node.kind === 'range' ? this.#range(node, dot) : this.#choice(node, dot);
        this.#variables.length = known;
        if (end !== undefined) return end;
      }
    }
    return undefined;
  }

  #print(text: string): void {
    this.text += text;
    requireShort(this.text.length);
  }

  #spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MOST_STEPS) throw new GoTemplateError('it takes too long');
  }

  #choice({ kind, pipe, then, otherwise }: Branch, dot: Value): 'break' | 'continue' | undefined {
    const value = this.#pipe(pipe, dot);
    if (value instanceof Opaque && value.fields.size === 0) throw new GoTemplateError(value.why);
    return isTrue(value) ? this.nodes(then, kind === 'with' ? value : dot) : this.nodes(otherwise, dot);
  }

  #range({ pipe, then, otherwise }: Branch, dot: Value): 'break' | 'continue' | undefined {
    const value = this.#pipe({ ...pipe, variables: [] }, dot);
    const items = itemsOf(value);
    if (items.length === 0) return this.nodes(otherwise, dot);
    const known = this.#variables.length;
    for (const [key, item] of items) {
      const [first, second] = pipe.variables;
      if (first !== undefined) this.#set(first, second === undefined ? item : key, pipe.assigns);
      if (second !== undefined) this.#set(second, item, pipe.assigns);
      const end = this.nodes(then, item);
      if (!pipe.assigns || end !== undefined) this.#variables.length = known;
      if (end === 'break') break;
    }
    return undefined;
  }

  #set(name: string, value: Value, assigns: boolean): void {
    if (!assigns) this.#variables.push({ name, value });
    else this.#variable(name).value = value;
  }

  #variable(name: string): { value: Value } {
    const found = this.#variables.findLast((one) => one.name === name);
    if (found === undefined) throw new GoTemplateError(`undefined variable ${name}`);
    return found;
  }

  #pipe({ variables, assigns, commands }: Pipe, dot: Value): Value {
    let value: Value;
    for (const [index, command] of commands.entries()) {
      value = this.#command(command, dot, index === 0 ? [] : [value]);
    }
    const [name] = variables;
    if (name !== undefined) this.#set(name, value, assigns);
    return value;
  }

  /** `last` is what the command before it in the pipeline gave: the last argument. */
  #command([first, ...rest]: Command, dot: Value, last: readonly Value[]): Value {
    if (first.kind !== 'function') {
      if (rest.length + last.length > 0) throw new GoTemplateError('arguments for something that is no function');
      if (first.kind === 'nil') throw new GoTemplateError('nil is not a command');
      return this.#operand(first, dot);
    }
    if (first.name === 'and' || first.name === 'or') return this.#shortCircuit(first.name, rest, dot, last);
    return this.#call(first.name, [...rest.map((operand) => this.#operand(operand, dot)), ...last]);
  }

  /** The first argument that decides; those after it are not evaluated. */
  #shortCircuit(name: string, operands: readonly Operand[], dot: Value, last: readonly Value[]): Value {
    let value: Value;
    for (const operand of operands) {
      value = this.#operand(operand, dot);
      if (isTrue(value) === (name === 'or')) return value;
    }
    if (operands.length + last.length === 0) throw new GoTemplateError(`${name} without arguments`);
    return last.length > 0 ? last[0] : value;
  }

  #call(name: string, values: readonly Value[]): Value {
    const known = Object.hasOwn(this.#functions, name) ? this.#functions[name] : undefined;
    if (known === undefined) throw new GoTemplateError(`the function ${name} is not known here`);
    const { parameters, call } = known;
    const rest = /(.)\*$/.exec(parameters)?.[1];
    const fixed = rest === undefined ? parameters : parameters.slice(0, -2);
    if (values.length < fixed.length || (rest === undefined && values.length > fixed.length))
      throw new GoTemplateError(`wrong number of arguments for ${name}`);
    for (const [index, value] of values.entries()) requireType(name, fixed[index] ?? rest ?? 'a', value);
    // Each is of the type that its letter says.
    const value = call(...(values as never[]));
    this.#spend(sizeOf(value, MOST_STEPS));
    return value;
  }

  #operand(operand: Operand, dot: Value): Value {
    switch (operand.kind) {
      case 'dot':
        return dot;
      case 'nil':
        return null;
      case 'literal':
        return operand.value;
      case 'variable':
        return this.#variable(operand.name).value;
      case 'function':
        return this.#call(operand.name, []);
      case 'pipe':
        return this.#pipe(operand.pipe, dot);
      case 'fields':
        return operand.names.reduce(fieldOf, this.#operand(operand.of, dot));
    }
  }
}

/** exec.go, evalField: a name that a map does not have has no value, and neither has a field of that. */
function fieldOf(value: Value, name: string): Value {
  if (value instanceof Opaque) {
    const found = value.fields.get(name);
    if (found === undefined && !value.fields.has(name)) throw new GoTemplateError(value.why);
    return found;
  }
  if (value === undefined) return undefined;
  if (value === null) throw new GoTemplateError(`nil pointer evaluating ${name}`);
  if (!isObject(value)) throw new GoTemplateError(`can't evaluate field ${name} in type ${typeOf(value)}`);
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

function itemsOf(value: Value): readonly (readonly [Value, Value])[] {
  if (value === undefined || value === null) return [];
  if (isList(value)) return value.map((item, index) => [BigInt(index), item]);
  if (isObject(value)) return sortedKeys(value).map((name) => [name, value[name]]);
  throw new GoTemplateError(`range can't iterate over ${value instanceof Opaque ? 'it' : typeOf(value)}`);
}

/** The letters of `GoFunction.parameters`. */
function requireType(name: string, letter: string, value: Value): void {
  if (value instanceof Opaque) throw new GoTemplateError(value.why);
  const fits =
    letter === 'a' ||
    (letter === 's' && typeof value === 'string') ||
    (letter === 'n' && typeof value === 'bigint') ||
    (letter === 'b' && typeof value === 'boolean') ||
    (letter === 'm' && isObject(value)) ||
    (letter === 'l' && isList(value));
  if (!fits) throw new GoTemplateError(`${name}: wrong type for value: ${typeOf(value)}`);
}
