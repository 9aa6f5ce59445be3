import { formatPath, type PathSegment, type Place } from '../diagnostics/index.ts';
import type { ScalarTree, Tree } from '../trees/tree.ts';
import { coreTag, resolvePlain, resolveTagged } from './core-schema.ts';
import { type Cursor, syntaxError, YamlError } from './cursor.ts';

/** Limit of parts: more would need more memory than a node can spare. */
const MOST_PARTS = 100_000;
/** Limit of repeated parts: more is an attack or a mistake ("billion laughs"). */
const MOST_REPEATED = 10_000;
/** A depth above any real document, for the stack of everything that walks the tree. */
export const DEEPEST = 200;
/** Limit of reported problems: a generated mistake should not fill the screen. */
const MOST_DUPLICATES = 20;

/** Properties before a value: `&name`, `!tag`. */
export interface Properties {
  readonly anchor?: { readonly name: string; readonly at: Place };
  readonly tag?: { readonly kind: string; readonly at: Place };
}

interface Anchored {
  readonly tree: Tree | undefined;
  readonly parts: number;
  readonly height: number;
}

export type Entries = Map<string, { readonly keyAt: Place; readonly value: Tree }>;

/** The parser's state: parts and their limits, anchors, the current path, recoverable problems. */
export class Parts {
  readonly path: PathSegment[] = [];
  readonly duplicates: { readonly place: Place; readonly path: string; readonly first: number }[] = [];
  readonly #cursor: Cursor;
  readonly #anchors = new Map<string, Anchored>();
  #parts = 0;
  #repeated = 0;
  /** The current nesting depth, and its maximum. */
  #depth = 0;
  #deepest = 0;

  constructor(cursor: Cursor) {
    this.#cursor = cursor;
  }

  /** A value. With an anchor, aliases after it repeat it. */
  node(properties: Properties, read: () => Tree): Tree {
    this.#parts++;
    if (this.#parts > MOST_PARTS) {
      this.#cursor.refuse(`the document has more than ${MOST_PARTS} parts`, 'split it, or refer to files');
    }
    this.#reach(this.#depth);
    this.#depth++;
    const tree = properties.anchor === undefined ? read() : this.#anchored(properties.anchor.name, read);
    this.#depth--;
    return tree;
  }

  #anchored(name: string, read: () => Tree): Tree {
    const [parts, deepest, depth] = [this.#parts, this.#deepest, this.#depth];
    this.#anchors.set(name, { tree: undefined, parts: 0, height: 0 });
    this.#deepest = depth;
    const tree = read();
    this.#anchors.set(name, { tree, parts: this.#parts - parts + 1, height: this.#deepest - depth });
    this.#deepest = Math.max(this.#deepest, deepest);
    return tree;
  }

  /** The value that `*name` repeats. */
  alias(name: string, at: Place): Tree {
    const anchored = this.#anchors.get(name);
    if (anchored === undefined) {
      throw syntaxError(
        at,
        'an alias without an anchor of its name before it',
        'anchors of other files are not seen; write the value out',
      );
    }
    if (anchored.tree === undefined) {
      throw new YamlError(at, 'the alias is inside of the value that it names', 'write out what is meant');
    }
    this.#repeated += anchored.parts;
    this.#parts += anchored.parts;
    if (this.#repeated > MOST_REPEATED) {
      throw new YamlError(at, 'the document expands to too many parts', 'remove aliases');
    }
    this.#reach(this.#depth + anchored.height);
    return anchored.tree;
  }

  /** A value with the tag and text given. */
  scalar(at: Place, text: string, isPlain: boolean, { tag }: Properties): ScalarTree {
    if (tag === undefined) return { kind: 'scalar', at, ...(isPlain ? resolvePlain(text) : { value: text }) };
    const resolved = resolveTagged(text, tag.kind);
    if (resolved === undefined) throw syntaxError(tag.at, 'a tag that does not fit its value', 'remove the tag');
    return { kind: 'scalar', at, ...resolved };
  }

  /** Refuses a tag of another kind before a collection. */
  checkTag({ tag }: Properties, kind: 'map' | 'seq'): void {
    if (tag === undefined || tag.kind === kind || tag.kind === '!') return;
    throw syntaxError(tag.at, 'a tag that does not fit its value', 'remove the tag');
  }

  /** `&name` or `!tag` at the cursor. */
  property(before: Properties): Properties {
    const cursor = this.#cursor;
    const at = cursor.place();
    const start = cursor.pos;
    while (!cursor.isBlankAt(cursor.pos) && !(cursor.pos > start && ',[]{}'.includes(cursor.char))) cursor.pos++;
    const text = cursor.text.slice(start, cursor.pos);
    if ('[{'.includes(cursor.char || ' ')) cursor.fail('an anchor or a tag without a blank after it', 'add a blank');
    if (text.startsWith('&')) {
      if (text === '&' || before.anchor !== undefined)
        throw syntaxError(at, 'a wrong anchor', 'write one &name before a value');
      return { ...before, anchor: { name: text.slice(1), at } };
    }
    const kind = coreTag(text);
    if (kind === undefined || before.tag !== undefined) {
      throw syntaxError(at, 'a tag that is not of YAML 1.2', 'remove the tag: only plain YAML 1.2 types are read');
    }
    return { ...before, tag: { kind, at } };
  }

  /** Adds an entry with the value at its path. A duplicate key keeps its first value and is reported. */
  entry(entries: Entries, key: string, keyAt: Place, read: () => Tree): void {
    this.path.push(key);
    const first = entries.get(key);
    if (first !== undefined && this.duplicates.length < MOST_DUPLICATES) {
      this.duplicates.push({ place: keyAt, path: shownPath(this.path), first: first.keyAt.line });
    }
    const value = read();
    if (first === undefined) entries.set(key, { keyAt, value });
    this.path.pop();
  }

  item(items: Tree[], read: () => Tree): void {
    this.path.push(items.length);
    items.push(read());
    this.path.pop();
  }

  #reach(depth: number): void {
    if (depth > DEEPEST) this.#cursor.refuse('nested too deeply');
    this.#deepest = Math.max(this.#deepest, depth);
  }
}

/** The text of a key; other types are refused. */
export function keyOf(tree: Tree): string {
  if (tree.kind === 'scalar' && typeof tree.value === 'string') return tree.value;
  throw new YamlError(tree.at, 'a key that is not a string', 'write the key in quotes');
}

/** A key that is misplaced below `secrets` may be a value. Its line is enough to find it. */
function shownPath(path: readonly PathSegment[]): string {
  return formatPath(path[0] === 'secrets' ? path.slice(0, 1) : path);
}
