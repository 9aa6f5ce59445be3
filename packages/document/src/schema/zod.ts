/**
 * zod, as the sections of the document use it: its names and its types, but a schema is built when something asks it for more
 * than whether a value is right. Most documents are right, and to build all schemas took a third of the time of `validate`.
 *
 * Each schema here has two halves, which must say the same: zod's, which finds what is wrong and is what the published JSON
 * Schema is made of, and `take`, which only takes what is right. What it refuses, zod judges. A test compares the two
 * (`schema-halves.test.ts`).
 */
import * as zod from 'zod';

export type { core, infer, ZodEnum, ZodLiteral, ZodObject, ZodOptional, ZodType, ZodUnion } from 'zod';

/** What `take` says of a value that is wrong, or that it leaves to zod. */
export const REFUSED = Symbol('refused');

type IsRight = (value: unknown) => boolean;
/** The value as zod would parse it, which is the value itself wherever that is the same; or `REFUSED`. */
type Take = (value: unknown) => unknown;

/** Asked for anything that it does not have itself, such as `_zod` or `safeParse`, it answers as zod's schema does. */
class Deferred {
  readonly #build: () => zod.ZodType;
  #built: zod.ZodType | undefined;
  readonly take: Take;
  /** Whether the field of an object may be absent. */
  readonly isOptional: boolean;

  constructor(build: () => zod.ZodType, take: Take, isOptional = false) {
    this.#build = build;
    this.take = take;
    this.isOptional = isOptional;
  }

  get built(): zod.ZodType {
    if (this.#built === undefined) {
      this.#built = this.#build();
      ORIGINS.set(this.#built, this);
    }
    return this.#built;
  }

  optional(): Deferred {
    const take: Take = (value) => (value === undefined ? value : this.take(value));
    return new Deferred(() => this.built.optional(), take, true);
  }

  meta(...given: Parameters<zod.ZodType['meta']>): Deferred {
    return new Deferred(() => this.built.meta(...given), this.take);
  }

  refine(isRight: (value: unknown) => unknown, ...words: unknown[]): Deferred {
    return this.#with('refine', [isRight, ...words], (value) => Boolean(isRight(value)));
  }

  regex(pattern: RegExp, ...words: unknown[]): Deferred {
    return this.#with('regex', [pattern, ...words], (value) => pattern.test(value as string));
  }

  min(limit: number, ...words: unknown[]): Deferred {
    return this.#with('min', [limit, ...words], (value) => sizeOf(value) >= limit);
  }

  max(limit: number, ...words: unknown[]): Deferred {
    return this.#with('max', [limit, ...words], (value) => sizeOf(value) <= limit);
  }

  #with(method: 'refine' | 'regex' | 'min' | 'max', given: unknown[], isRight: IsRight): Deferred {
    const build = () => {
      const { built } = this;
      return (Reflect.get(built, method) as (...all: unknown[]) => zod.ZodType).apply(built, given);
    };
    return new Deferred(build, (value) => {
      const taken = this.take(value);
      return taken !== REFUSED && isRight(taken) ? taken : REFUSED;
    });
  }
}

Object.setPrototypeOf(
  Deferred.prototype,
  new Proxy(Object.prototype, {
    get: (_, name, { built }: Deferred) => {
      const value: unknown = Reflect.get(built, name);
      return typeof value === 'function' ? value.bind(built) : value;
    },
  }),
);

const ORIGINS = new WeakMap<zod.core.$ZodType, Deferred>();

/** The size of a text or list; a number itself. */
function sizeOf(value: unknown): number {
  return typeof value === 'number' ? value : (value as string | readonly unknown[]).length;
}

function deferred<Schema>(build: () => zod.ZodType, take: Take, more: object = {}): Schema {
  return Object.assign(new Deferred(build, take), more) as Schema;
}

/** Of a value that has no parts. */
function simple<Schema>(build: () => zod.ZodType, isRight: IsRight, more?: object): Schema {
  return deferred(build, (value) => (isRight(value) ? value : REFUSED), more);
}

/** A schema that only zod checks. */
function checkedByZod<Schema>(build: () => zod.ZodType): Schema {
  const schema: Deferred = simple(build, (value) => schema.built.safeParse(value).success);
  return schema as Schema;
}

/** zod's schema of one from here, which is always the same. */
export function builtSchema<Schema extends zod.core.$ZodType>(schema: Schema): Schema {
  return schema instanceof Deferred ? (schema.built as unknown as Schema) : schema;
}

/** The schema from here that zod's was built from; the schema itself where there is none. */
export function originOf(schema: zod.core.$ZodType): object {
  return ORIGINS.get(schema) ?? schema;
}

/** A right value as `safeParse` would give it. `REFUSED`: it is wrong, or zod must judge it. */
export function take(schema: zod.ZodType, value: unknown): unknown {
  return schema instanceof Deferred ? schema.take(value) : REFUSED;
}

/** Whether an object may lack a field of this schema. */
export function isOptional(schema: zod.ZodType): boolean {
  return schema instanceof Deferred ? schema.isOptional : schema._zod.optin === 'optional';
}

type Shape = Readonly<Record<string, zod.ZodType>>;
type Words = string | Readonly<Record<string, unknown>>;

export const string = ((words?: Words) =>
  simple(
    () => zod.string(words),
    (value) => typeof value === 'string',
  )) as typeof zod.string;

export const boolean = ((words?: Words) =>
  simple(
    () => zod.boolean(words),
    (value) => typeof value === 'boolean',
  )) as typeof zod.boolean;

export const int = ((words?: Words) => simple(() => zod.int(words), Number.isSafeInteger)) as typeof zod.int;

export const unknown = (() =>
  simple(
    () => zod.unknown(),
    () => true,
  )) as typeof zod.unknown;

export const literal = ((only: string | boolean, words?: Words) =>
  simple(
    () => zod.literal(only, words),
    (value) => value === only,
    { value: only },
  )) as unknown as typeof zod.literal;

const enumeration = ((values: readonly string[], words?: Words) =>
  simple(
    () => zod.enum(values, words),
    (value) => values.includes(value as string),
  )) as unknown as typeof zod.enum;

export { enumeration as enum };

export const custom = ((isRight: IsRight) => simple(() => zod.custom(isRight), isRight)) as typeof zod.custom;

export const array = ((element: zod.ZodType, words?: Words) =>
  deferred(
    () => zod.array(builtSchema(element), words),
    (value) => {
      if (!Array.isArray(value)) return REFUSED;
      const items = value.map((item) => take(element, item));
      if (items.includes(REFUSED)) return REFUSED;
      return items.every((item, index) => item === value[index]) ? value : items;
    },
  )) as typeof zod.array;

/** `key` is the schema of the keys. */
export const record = ((key: zod.ZodType & zod.core.$ZodRecordKey, of: zod.ZodType) =>
  deferred(
    () => zod.record(builtSchema(key), builtSchema(of)),
    (value) => {
      if (!isPlain(value)) return REFUSED;
      const taken: Record<string, unknown> = {};
      let isSame = true;
      for (const name of Object.keys(value)) {
        if (take(key, name) === REFUSED) return REFUSED;
        taken[name] = take(of, value[name]);
        if (taken[name] === REFUSED) return REFUSED;
        isSame &&= taken[name] === value[name];
      }
      return isSame ? value : taken;
    },
  )) as unknown as typeof zod.record;

function takeFirst(options: readonly zod.ZodType[], value: unknown): unknown {
  for (const option of options) {
    const taken = take(option, value);
    if (taken !== REFUSED) return taken;
  }
  return REFUSED;
}

export const union = ((options: readonly zod.ZodType[], words?: Words) =>
  deferred(
    () => zod.union(options.map(builtSchema), words),
    (value) => takeFirst(options, value),
  )) as unknown as typeof zod.union;

export const discriminatedUnion = ((name: string, options: readonly zod.ZodType[]) =>
  deferred(
    () => zod.discriminatedUnion(name, options.map(builtSchema) as unknown as [zod.core.$ZodTypeDiscriminable]),
    (value) => takeFirst(options, value),
  )) as unknown as typeof zod.discriminatedUnion;

export const lazy = ((schema: () => zod.ZodType) =>
  deferred(
    () => zod.lazy(() => builtSchema(schema())),
    (value) => take(schema(), value),
  )) as typeof zod.lazy;

export const ipv4 = ((words?: Words) => checkedByZod(() => zod.ipv4(words))) as typeof zod.ipv4;
export const ipv6 = ((words?: Words) => checkedByZod(() => zod.ipv6(words))) as typeof zod.ipv6;
export const uuid = ((words?: Words) => checkedByZod(() => zod.uuid(words))) as typeof zod.uuid;
export const iso = {
  datetime: ((words?: Readonly<Record<string, unknown>>) =>
    checkedByZod(() => zod.iso.datetime(words))) as typeof zod.iso.datetime,
};

export const strictObject = ((shape: Shape) =>
  deferred(
    () => zod.strictObject(builtShape(shape)),
    (value) => takeObject(shape, value),
    { shape },
  )) as typeof zod.strictObject;

export const looseObject = ((shape: Shape) =>
  deferred(
    () => zod.looseObject(builtShape(shape)),
    (value) => takeObject(shape, value, true),
    { shape },
  )) as typeof zod.looseObject;

function builtShape(shape: Shape): Record<string, zod.ZodType> {
  return Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, builtSchema(schema)]));
}

/** In the order of the fields: files are written in it. */
function takeObject(shape: Shape, value: unknown, isLoose = false): unknown {
  if (!isPlain(value)) return REFUSED;
  const given = Object.keys(value);
  const taken: Record<string, unknown> = {};
  let [place, isSame] = [0, true];
  for (const name in shape) {
    const schema = shape[name] as zod.ZodType;
    if (Object.hasOwn(value, name)) {
      const part = take(schema, value[name]);
      if (part === REFUSED) return REFUSED;
      isSame &&= given[place] === name && part === value[name];
      taken[name] = part;
      place += 1;
    } else if (!isOptional(schema)) return REFUSED;
  }
  if (place < given.length && !isLoose) return REFUSED;
  if (isSame) return value;
  for (const name of given) if (!Object.hasOwn(shape, name)) taken[name] = value[name];
  return taken;
}

/** What a document is made of. What zod makes another value of is left to it: it drops keys `__proto__` and other prototypes. */
function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  return Object.getPrototypeOf(value) === Object.prototype && !Object.hasOwn(value, '__proto__');
}
