import { formatPath, type PathSegment } from '../document/diagnostics.ts';
import type { Placed, Report } from './report.ts';

/** What a tree of sources shares: who is told of mistakes, and what was read. */
interface Reading {
  readonly object: string;
  readonly report: Report;
  /** Numbers and booleans are taken where a string belongs: what YAML 1.1 made of an unquoted word. */
  readonly lenient: boolean;
  readonly read: Set<string>;
}

/**
 * A value of the input that remembers what was read of it, so that nothing is lost unnoticed: `unread` lists the rest.
 * A part that is not there is a source without a value; a part of the wrong type is told as InputInvalid.
 */
export class Source implements Placed {
  readonly path: readonly PathSegment[];
  readonly #value: unknown;
  readonly #reading: Reading;

  private constructor(value: unknown, path: readonly PathSegment[], reading: Reading) {
    this.#value = value;
    this.path = path;
    this.#reading = reading;
  }

  /** @param object how messages name the object: `KubeadmConfig clusters/a` */
  static of(value: unknown, object: string, report: Report, options: { readonly lenient?: boolean } = {}): Source {
    return new Source(value, [], { object, report, lenient: options.lenient ?? false, read: new Set() });
  }

  get place(): string {
    const path = formatPath(this.path);
    return path === '' ? this.#reading.object : `${this.#reading.object}: ${path}`;
  }

  /** null counts as absent, as for every optional field of Kubernetes. */
  get exists(): boolean {
    return this.#value !== undefined && this.#value !== null;
  }

  get(...names: readonly PathSegment[]): Source {
    let value = this.#value;
    for (const name of names) value = childOf(value, name);
    return new Source(value, [...this.path, ...names], this.#reading);
  }

  text(): string | undefined {
    if (!this.#take()) return undefined;
    if (typeof this.#value === 'string') return this.#value;
    if (this.#reading.lenient && (typeof this.#value === 'number' || typeof this.#value === 'boolean')) {
      return String(this.#value);
    }
    return this.#wrong('a string');
  }

  integer(): number | undefined {
    if (!this.#take()) return undefined;
    const value = this.#value;
    if (typeof value === 'number' && Number.isInteger(value)) return value;
    if (this.#reading.lenient && typeof value === 'string' && /^-?\d+$/.test(value)) return Number(value);
    return this.#wrong('a whole number');
  }

  flag(): boolean | undefined {
    if (!this.#take()) return undefined;
    return typeof this.#value === 'boolean' ? this.#value : this.#wrong('true or false');
  }

  /** The items of a list; [] where there is none. */
  items(): readonly Source[] {
    if (!this.exists) return [];
    if (!Array.isArray(this.#value)) {
      this.#take();
      this.#wrong('a list');
      return [];
    }
    return this.#value.map((_item, index) => this.get(index));
  }

  texts(): readonly string[] {
    return this.items().flatMap((item) => item.text() ?? []);
  }

  /** The members of a map, in its order; [] where there is none. */
  members(): readonly (readonly [string, Source])[] {
    if (!this.exists) return [];
    if (!isMap(this.#value)) {
      this.#take();
      this.#wrong('a map');
      return [];
    }
    return Object.keys(this.#value).map((key) => [key, this.get(key)]);
  }

  get isList(): boolean {
    return Array.isArray(this.#value);
  }

  get isMap(): boolean {
    return isMap(this.#value);
  }

  /** The value as it is, all of it taken for read. */
  whole(): unknown {
    this.#take();
    return this.#value;
  }

  /** Paths of the leaves that nobody read. */
  unread(): readonly Source[] {
    if (!this.exists || this.#wasRead()) return [];
    const below = this.isList ? this.items() : this.isMap ? this.members().map(([, member]) => member) : [this];
    return below.flatMap((part) => (part === this ? [this] : part.unread()));
  }

  #take(): boolean {
    if (this.#value === undefined) return false;
    this.#reading.read.add(formatPath(this.path));
    return this.#value !== null;
  }

  #wasRead(): boolean {
    return (
      this.path.some((_segment, index) => this.#reading.read.has(formatPath(this.path.slice(0, index + 1)))) ||
      this.#reading.read.has('')
    );
  }

  /** The value itself is not shown: it may be a secret in the wrong place. */
  #wrong(expected: string): undefined {
    this.#reading.report.add('InputInvalid', this, `expected ${expected}`);
    return undefined;
  }
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function childOf(value: unknown, name: PathSegment): unknown {
  if (Array.isArray(value)) return typeof name === 'number' ? (value[name] as unknown) : undefined;
  return isMap(value) && Object.hasOwn(value, name) ? value[String(name)] : undefined;
}
