import { GoTemplateError, numberOf, type Piece, pieces, type Token, unquoted } from './tokens.ts';

/**
 * The language of Go's text/template, without templates by name (`define`, `template`, `block`). What Go refuses, or what is not
 * read here, throws a `GoTemplateError`: nothing is guessed.
 */
export type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'print'; readonly pipe: Pipe }
  | { readonly kind: 'break' }
  | { readonly kind: 'continue' }
  | Branch;

/** `if`, `with` or `range`, and what follows its `else`. */
export interface Branch {
  readonly kind: 'if' | 'with' | 'range';
  readonly pipe: Pipe;
  readonly then: readonly Node[];
  readonly otherwise: readonly Node[];
}

export interface Pipe {
  /** Variables that it declares or, with `assigns`, sets. */
  readonly variables: readonly string[];
  readonly assigns: boolean;
  readonly commands: readonly Command[];
}

/** An operand, or a function and its arguments. */
export type Command = readonly [Operand, ...Operand[]];

export type Operand =
  | { readonly kind: 'dot' | 'nil' }
  | { readonly kind: 'literal'; readonly value: string | number | bigint | boolean }
  | { readonly kind: 'variable' | 'function'; readonly name: string }
  | { readonly kind: 'pipe'; readonly pipe: Pipe }
  | { readonly kind: 'fields'; readonly of: Operand; readonly names: readonly string[] };

/** A limit for conditions and parentheses in each other: each level uses the stack. */
const DEEPEST = 50;

export function parseTemplate(template: string): readonly Node[] {
  const reader = new Reader(pieces(template));
  const nodes = reader.nodes(0);
  if (!reader.isAtEnd) throw new GoTemplateError(`unexpected {{${reader.keyword}}}`);
  return nodes;
}

const KEYWORDS = new Set(['if', 'else', 'end', 'range', 'with', 'break', 'continue']);
const UNREAD = new Set(['define', 'template', 'block']);

class Reader {
  readonly #pieces: readonly Piece[];
  #piece = 0;
  #tokens: readonly Token[] = [];
  #token = 0;
  #loops = 0;

  constructor(found: readonly Piece[]) {
    this.#pieces = found;
  }

  get isAtEnd(): boolean {
    return this.#piece >= this.#pieces.length;
  }

  /** The keyword that the next action begins with. */
  get keyword(): string | undefined {
    const piece = this.#pieces[this.#piece];
    const first = piece !== undefined && 'tokens' in piece ? piece.tokens[0] : undefined;
    return first?.kind === 'word' && KEYWORDS.has(first.text) ? first.text : undefined;
  }

  /** Up to `else`, `end` or the end of the template. */
  nodes(depth: number): readonly Node[] {
    if (depth > DEEPEST) throw new GoTemplateError('nested too deeply');
    const found: Node[] = [];
    for (let piece = this.#pieces[this.#piece]; piece !== undefined; piece = this.#pieces[this.#piece]) {
      if ('text' in piece) {
        this.#piece++;
        found.push({ kind: 'text', text: piece.text });
        continue;
      }
      const { keyword } = this;
      if (keyword === 'else' || keyword === 'end') break;
      this.#open(piece.tokens, keyword === undefined ? 0 : 1);
      if (keyword === 'break' || keyword === 'continue') {
        if (this.#loops === 0) throw new GoTemplateError(`{{${keyword}}} outside of {{range}}`);
        this.#close();
        found.push({ kind: keyword });
      } else if (keyword === 'if' || keyword === 'with' || keyword === 'range')
        found.push(this.#branch(keyword, depth));
      else {
        const pipe = this.#pipe(0, false);
        this.#close();
        found.push({ kind: 'print', pipe });
      }
    }
    return found;
  }

  #branch(kind: Branch['kind'], depth: number): Branch {
    const pipe = this.#pipe(0, kind === 'range');
    this.#close();
    if (kind === 'range') this.#loops++;
    const then = this.nodes(depth + 1);
    if (kind === 'range') this.#loops--;
    const otherwise = this.keyword === 'else' ? this.#otherwise(kind, depth) : this.#end([]);
    return { kind, pipe, then, otherwise };
  }

  /** `else`, or `else if` and `else with`, which share the `end`. */
  #otherwise(kind: Branch['kind'], depth: number): readonly Node[] {
    const piece = this.#pieces[this.#piece];
    const tokens = piece !== undefined && 'tokens' in piece ? piece.tokens : [];
    const [, next] = tokens;
    this.#open(tokens, 1);
    if (next?.text === kind && kind !== 'range') {
      this.#token++;
      if (depth >= DEEPEST) throw new GoTemplateError('nested too deeply');
      return [this.#branch(kind, depth + 1)];
    }
    this.#close();
    return this.#end(this.nodes(depth + 1));
  }

  #end(nodes: readonly Node[]): readonly Node[] {
    const piece = this.#pieces[this.#piece];
    if (this.keyword !== 'end' || piece === undefined || !('tokens' in piece)) throw new GoTemplateError('no {{end}}');
    this.#open(piece.tokens, 1);
    this.#close();
    return nodes;
  }

  #open(tokens: readonly Token[], from: number): void {
    this.#piece++;
    [this.#tokens, this.#token] = [tokens, from];
  }

  #close(): void {
    const [left] = this.#tokens.slice(this.#token, this.#token + 1);
    if (left !== undefined) throw new GoTemplateError(`unexpected ${left.kind} in an action`);
  }

  #pipe(depth: number, isRange: boolean): Pipe {
    if (depth > DEEPEST) throw new GoTemplateError('nested too deeply');
    const { variables, assigns } = this.#declared(isRange);
    const commands: Command[] = [];
    do commands.push(this.#command(depth));
    while (this.#take('|'));
    return { variables, assigns, commands };
  }

  #declared(isRange: boolean): Pick<Pipe, 'variables' | 'assigns'> {
    const [first, second, third, fourth] = this.#tokens.slice(this.#token, this.#token + 4);
    const none = { variables: [], assigns: false };
    if (first?.kind !== 'variable') return none;
    const isPair = isRange && second?.text === ',' && third?.kind === 'variable';
    const sign = (isPair ? fourth : second)?.text;
    if (sign !== ':=' && sign !== '=') return none;
    this.#token += isPair ? 4 : 2;
    return { variables: isPair ? [first.text, third.text] : [first.text], assigns: sign === '=' };
  }

  #command(depth: number): Command {
    const first = this.#operand(depth);
    if (first === undefined) throw new GoTemplateError('a value is missing');
    const rest: Operand[] = [];
    for (let next = this.#operand(depth); next !== undefined; next = this.#operand(depth)) rest.push(next);
    return [first, ...rest];
  }

  #take(mark: string): boolean {
    const token = this.#tokens[this.#token];
    const isIt = token?.kind === 'mark' && token.text === mark;
    if (isIt) this.#token++;
    return isIt;
  }

  #operand(depth: number): Operand | undefined {
    const token = this.#tokens[this.#token];
    if (token === undefined || (token.kind === 'mark' && token.text !== '(')) return undefined;
    this.#token++;
    if (token.kind === 'fields') return { kind: 'fields', of: { kind: 'dot' }, names: namesOf(token.text) };
    const of = token.kind === 'mark' ? this.#parentheses(depth) : operandOf(token);
    const next = this.#tokens[this.#token];
    if (next?.kind !== 'fields' || !next.isGlued) return of;
    if (of.kind !== 'pipe' && of.kind !== 'variable') throw new GoTemplateError('a field of something without fields');
    this.#token++;
    return { kind: 'fields', of, names: namesOf(next.text) };
  }

  #parentheses(depth: number): Operand {
    const pipe = this.#pipe(depth + 1, false);
    if (!this.#take(')')) throw new GoTemplateError('a parenthesis is not closed');
    return { kind: 'pipe', pipe };
  }
}

function namesOf(fields: string): readonly string[] {
  return fields.slice(1).split('.');
}

function operandOf({ kind, text }: Token): Operand {
  if (kind === 'dot') return { kind: 'dot' };
  if (kind === 'variable') return { kind: 'variable', name: text };
  if (kind === 'string') return { kind: 'literal', value: unquoted(text) };
  if (kind === 'raw') return { kind: 'literal', value: text.slice(1, -1).replaceAll('\r', '') };
  if (kind === 'number') return { kind: 'literal', value: numberOf(text) };
  if (kind === 'char')
    return { kind: 'literal', value: BigInt(unquoted(`"${text.slice(1, -1)}"`).codePointAt(0) ?? 0) };
  if (text === 'true' || text === 'false') return { kind: 'literal', value: text === 'true' };
  if (text === 'nil') return { kind: 'nil' };
  if (UNREAD.has(text) || KEYWORDS.has(text)) throw new GoTemplateError(`{{${text}}} is not known here`);
  return { kind: 'function', name: text };
}
