import { formatPath, type PathSegment, printableKey } from '@machineadm/document/diagnostics/index.ts';
import { Verbatim } from '@machineadm/document/values/verbatim.ts';
import type { Code } from '../report/codes.ts';
import type { Dropped } from '../report/dropped.ts';
import type { Placed, Report } from '../report/report.ts';
import { isMap } from './map.ts';

/** State shared by the parts of one tree. */
interface Reading {
  readonly object: string;
  readonly report: Report;
  /** Accept numbers and booleans in place of a string: YAML 1.1 may have parsed an unquoted word. */
  readonly lenient: boolean;
  readonly unknown: Code;
  readonly remedy: string;
  readonly emptyIsAbsent: boolean;
}

/** How to read a tree, and how to report its unread parts. */
interface SourceOptions {
  readonly lenient?: boolean;
  /** Default: UnknownField. */
  readonly unknown?: Code;
  readonly remedy?: string;
  /** An empty map or list means the same as none: the writer is a Go program whose structs have no omitempty. */
  readonly emptyIsAbsent?: boolean;
}

/**
 * A value of the input that records which parts were read, so that nothing is lost unnoticed. The report knows every
 * opened tree, and reports its unread parts after the conversion (`Report.settle`): no reader can forget that. A
 * missing part is a source without a value; a part of the wrong type is reported as InputInvalid.
 */
export class Source implements Placed {
  readonly path: readonly PathSegment[];
  /** The path, without a key that is really a value: the place of a misplaced value is reported, not the value. */
  readonly #told: readonly PathSegment[];
  readonly #value: unknown;
  readonly #reading: Reading;
  readonly #parts = new Map<PathSegment, Source>();
  #isRead = false;

  private constructor(value: unknown, path: readonly PathSegment[], told: readonly PathSegment[], reading: Reading) {
    this.#value = value;
    this.path = path;
    this.#told = told;
    this.#reading = reading;
  }

  /**
   *
   * @param object the object's name in messages: `KubeadmConfig clusters/a`
   */
  static of(value: unknown, object: string, report: Report, options: SourceOptions = {}): Source {
    const { lenient = false, unknown = 'UnknownField', emptyIsAbsent = false } = options;
    const { remedy = 'the document has no equivalent' } = options;
    const source = new Source(value, [], [], { object, report, lenient, unknown, remedy, emptyIsAbsent });
    report.track(() => source.#reportUnread());
    return source;
  }

  get place(): string {
    const path = formatPath(this.#told);
    return path === '' ? this.#reading.object : `${this.#reading.object}: ${path}`;
  }

  /** null counts as absent, as for every optional field of Kubernetes. */
  get exists(): boolean {
    return this.#value !== undefined && this.#value !== null;
  }

  get(...names: readonly PathSegment[]): Source {
    let source: Source = this;
    for (const name of names) source = source.#part(name);
    return source;
  }

  text(): string | undefined {
    if (!this.#take()) return undefined;
    if (typeof this.#value === 'string') return this.#value;
    if (this.#reading.lenient && (this.isNumber || typeof this.#value === 'boolean')) return String(this.#value);
    return this.#wrong('a string');
  }

  integer(): number | undefined {
    if (!this.#take()) return undefined;
    const value = this.#value instanceof Verbatim ? Number(this.#value.text) : this.#value;
    if (Number.isSafeInteger(value)) return Number(value);
    if (this.#reading.lenient && typeof value === 'string' && /^-?\d+$/.test(value)) return Number(value);
    return this.#wrong('a whole number');
  }

  flag(): boolean | undefined {
    if (!this.#take()) return undefined;
    return typeof this.#value === 'boolean' ? this.#value : this.#wrong('true or false');
  }

  /** The items of a list; [] if it is missing. */
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

  /** The members of a map, in order; [] if it is missing. */
  members(): readonly (readonly [string, Source])[] {
    if (!this.exists) return [];
    if (!isMap(this.#value)) {
      this.#take();
      this.#wrong('a map');
      return [];
    }
    return Object.keys(this.#value).map((key) => [key, this.#part(key, true)]);
  }

  get isList(): boolean {
    return Array.isArray(this.#value);
  }

  get isMap(): boolean {
    return isMap(this.#value);
  }

  get isNumber(): boolean {
    return typeof this.#value === 'number' || this.#value instanceof Verbatim;
  }

  /** The unprocessed value; the caller writes all of it to the document or reports it. */
  whole(): unknown {
    this.#take();
    return this.#value;
  }

  /** Leaves this part out without a message, for a reason on the list of those. */
  drop(reason: Dropped): void {
    for (const part of this.#leaves(true)) {
      part.#isRead = true;
      this.#reading.report.drop(reason, part);
    }
  }

  /** Unread leaves of this part. An unknown empty map or list counts as one, unless it means the same as none. */
  unread(): readonly Source[] {
    return this.#leaves(false);
  }

  #leaves(withRead: boolean): readonly Source[] {
    const found: Source[] = [];
    const visit = (source: Source, isKnown: boolean): void => {
      if ((source.#isRead && !withRead) || !source.exists) return;
      const names = keysOf(source.#value);
      const isEmpty = names?.length === 0;
      if (names === undefined || (isEmpty && !isKnown && !this.#reading.emptyIsAbsent)) found.push(source);
      for (const name of names ?? []) {
        const wasAskedFor = source.#parts.has(name);
        visit(source.#part(name, true), wasAskedFor);
      }
    };
    visit(this, true);
    return found;
  }

  #reportUnread(): void {
    const { report, unknown, remedy } = this.#reading;
    for (const part of this.unread()) {
      const known = withoutCounterpart(part.path);
      if (known === undefined) report.add(unknown, part, remedy);
      else report.add('FieldWithoutCounterpart', part, known);
    }
  }

  /**
   *
   * @param isOfInput true: the name was found in the input, and may be anything.
   */
  #part(name: PathSegment, isOfInput = false): Source {
    const known = this.#parts.get(name);
    if (known !== undefined) return known;
    const told = isOfInput && typeof name === 'string' ? printableKey(name) : name;
    const part = new Source(childOf(this.#value, name), [...this.path, name], [...this.#told, told], this.#reading);
    this.#parts.set(name, part);
    return part;
  }

  #take(): boolean {
    if (this.#value === undefined) return false;
    this.#isRead = true;
    return this.#value !== null;
  }

  /** The value itself is not printed: it may be a secret in the wrong place. */
  #wrong(expected: string): undefined {
    this.#reading.report.add('InputInvalid', this, `expected ${expected}`);
    return undefined;
  }
}

/** Fields of kubeadm for which the document has no equivalent; what to do about each. */
const WITHOUT_COUNTERPART: readonly (readonly [RegExp, string])[] = [
  [/(?:^|\.)dryRun$/, 'kubeadm would change nothing; `machineadm plan` shows what a run changes'],
  [/(?:^|\.)timeouts\.upgradeManifests(?:Seconds)?$/, 'used only by `kubeadm upgrade`, which reads a separate file'],
  [/(?:^|\.)dns\.type$/, 'CoreDNS is the only one since 1.21'],
  [/(?:^|\.)useHyperKubeImage$/, 'hyperkube images end with 1.18'],
];

function withoutCounterpart(path: readonly PathSegment[]): string | undefined {
  const text = formatPath(path);
  return WITHOUT_COUNTERPART.find(([pattern]) => pattern.test(text))?.[1];
}

/** Names of the parts of a value; undefined for a scalar. */
function keysOf(value: unknown): readonly PathSegment[] | undefined {
  if (Array.isArray(value)) return Array.from(value.keys());
  return isMap(value) ? Object.keys(value) : undefined;
}

function childOf(value: unknown, name: PathSegment): unknown {
  if (Array.isArray(value)) return typeof name === 'number' ? (value[name] as unknown) : undefined;
  return isMap(value) && Object.hasOwn(value, name) ? value[String(name)] : undefined;
}
