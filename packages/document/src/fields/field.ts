import * as z from '../schema/zod.ts';
import type { JsonSchema } from './conditions.ts';

/** What a reader needs to know of a field: editors, `machineadm explain` and the reference say it. */
export interface FieldText {
  readonly description: string;
  /** The value that an absent field stands for. */
  readonly default?: unknown;
  /** The same in words, where no single value says it. Of a field that is required there is neither. */
  readonly absent?: string;
  /** Not of a constant. */
  readonly example?: unknown;
  /** What it changes on the machine, for the reference; absent: what the object that it is in changes. */
  readonly changes?: string;
}

/** A field of an object: its form and its words. */
export interface Field<Schema extends z.ZodType = z.ZodType> {
  readonly schema: Schema;
  readonly text: FieldText;
}

type WhenAbsent = { readonly default: unknown } | { readonly absent: string };

/** A field that may be absent: `default` or `absent` says what it stands for then. */
export function field<Schema extends z.ZodType>(
  schema: Schema,
  description: string,
  words: WhenAbsent & Pick<FieldText, 'example' | 'changes'>,
): Field<z.ZodOptional<Schema>>;
/** A field that must be there. */
export function field<Schema extends z.ZodType>(
  schema: Schema,
  description: string,
  words?: Pick<FieldText, 'example' | 'changes'>,
): Field<Schema>;
export function field(schema: z.ZodType, description: string, words: Partial<FieldText> = {}): Field {
  const isOptional = 'default' in words || 'absent' in words;
  return { schema: isOptional ? schema.optional() : schema, text: { description, ...words } };
}

export type Fields = Readonly<Record<string, Field>>;

export type ShapeOf<Of extends Fields> = { -readonly [Name in keyof Of]: Of[Name]['schema'] };

/** Facts about a schema for the generated files, beyond those that zod knows. */
interface Notes {
  readonly fields?: Fields;
  /** Rules across the fields of an object, as far as a JSON Schema can express them. None refuses more than the checks do. */
  readonly conditions?: () => readonly JsonSchema[];
  /** It is published once, under this name. */
  readonly definition?: { readonly name: string; readonly text?: FieldText };
  /** The JSON Schema of a rule in code. */
  readonly rule?: JsonSchema;
  /** What each value of an enumeration means. */
  readonly values?: Readonly<Record<string, string>>;
}

/** By the schema from `schema/zod.ts`. */
const NOTES = new WeakMap<object, Notes>();

function note<Schema extends z.core.$ZodType>(schema: Schema, notes: Notes): Schema {
  NOTES.set(schema, { ...NOTES.get(schema), ...notes });
  return schema;
}

/** What is noted of a schema; what is noted of an object also holds where a check was added to it. */
export function notesOf(schema: z.core.$ZodType): Notes {
  const { parent } = schema._zod;
  const { fields, conditions }: Notes = parent === undefined ? {} : notesOf(parent);
  return { ...(fields && { fields }), ...(conditions && { conditions }), ...NOTES.get(z.originOf(schema)) };
}

/** An object of these fields and no others. */
export function object<Of extends Fields>(
  fields: Of,
  conditions?: Notes['conditions'],
): z.ZodObject<ShapeOf<Of>, z.core.$strict> {
  return note(z.strictObject(shapeOf(fields)), { fields, ...(conditions && { conditions }) });
}

/** An object of these fields and any others. */
export function looseObject<Of extends Fields>(fields: Of): z.ZodObject<ShapeOf<Of>, z.core.$loose> {
  return note(z.looseObject(shapeOf(fields)), { fields });
}

function shapeOf<Of extends Fields>(fields: Of): ShapeOf<Of> {
  return Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])) as ShapeOf<Of>;
}

type Alternative<Of extends Fields> = {
  [Name in keyof Of]: z.ZodObject<{ [Only in Name]: Of[Name]['schema'] }, z.core.$strict>;
}[keyof Of];

/** An object that has one of these fields, and nothing else. */
export function oneOf<Of extends Fields>(
  fields: Of,
  error = `expected one of ${Object.keys(fields)
    .map((name) => `{${name}}`)
    .join(', ')}`,
): z.ZodUnion<readonly Alternative<Of>[]> {
  const alternatives = Object.entries(fields).map(([name, of]) => object({ [name]: of }));
  return z.union(alternatives, { error }) as unknown as z.ZodUnion<readonly Alternative<Of>[]>;
}

/** One of these words, each with its meaning. */
export function choice<Word extends string>(
  values: Readonly<Record<Word, string>>,
): z.ZodEnum<{ [Each in Word]: Each }> {
  return note(z.enum(Object.keys(values) as Word[]), { values }) as z.ZodEnum<{ [Each in Word]: Each }>;
}

/** A schema that is published once, under a name of its own; with words only where its fields do not say them. */
export function define<Schema extends z.ZodType>(
  name: string,
  schema: Schema,
  description?: string,
  example?: unknown,
): Schema {
  const text = description === undefined ? {} : { text: { description, example } };
  return note(schema, { definition: { name, ...text } });
}

/** A schema with a rule in code, and what that means in a JSON Schema. */
export function meaning<Schema extends z.ZodType>(schema: Schema, rule: JsonSchema): Schema {
  return note(schema, { rule });
}
