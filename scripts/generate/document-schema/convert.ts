import type { PathSegment } from '@machineadm/document/diagnostics/index.ts';
import type { JsonSchema } from '@machineadm/document/fields/conditions.ts';
import { type FieldText, notesOf } from '@machineadm/document/fields/field.ts';
import { portablePattern } from '@machineadm/document/fields/portable-pattern.ts';
import type * as z from 'zod';
import { strictly } from './strict.ts';

/** The parts of the JSON Schema that come neither from the zod schema nor from its notes. */
export interface Additions {
  /** Whether the schema is for the reference, which has annotations that are not published. */
  readonly isForReference?: boolean | undefined;
  /** The meanings of the values of an enumeration, for the schema for editors, which show them. */
  valueMeanings?(schema: z.core.$ZodType): Readonly<Record<string, string>> | undefined;
  /** Whether `${name}` is replaced in the string at a place of the document. */
  isExpandable(place: readonly PathSegment[]): boolean;
}

/** An example of where a document has the schema. */
type Place = readonly PathSegment[];

export const VARIABLE_TEXT = 'VariableText';

/** The JSON Schema of a zod schema, and the definitions that it references. Throws for an unsupported zod type. */
export function convertSchema(
  root: z.core.$ZodType,
  additions: Additions,
): { readonly schema: JsonSchema; readonly definitions: Readonly<Record<string, JsonSchema>> } {
  const definitions: Record<string, JsonSchema> = {};

  const convert = (schema: z.core.$ZodType, place: Place): JsonSchema => {
    const { def } = schema._zod;
    if (def.type === 'optional') return convert((def as z.core.$ZodOptionalDef).innerType, place);
    const converted = convertAlternative(schema, place);
    const { definition } = notesOf(schema);
    return acceptingVariables(converted, place, definition === undefined ? converted : definitions[definition.name]);
  };

  /** Converts a schema, or one alternative of a union, without the alternative for text with variables. */
  const convertAlternative = (schema: z.core.$ZodType, place: Place): JsonSchema => {
    const { definition } = notesOf(schema);
    if (definition === undefined) return convertInline(schema, place);
    const { name, text } = definition;
    if (definitions[name] === undefined) {
      // Set before its parts are converted: a definition may be recursive.
      definitions[name] = {};
      definitions[name] = { ...annotations(text), ...convertInline(schema, place) };
    }
    return { $ref: `#/$defs/${name}` };
  };

  const convertInline = (schema: z.core.$ZodType, place: Place): JsonSchema => ({
    ...structure(schema, place),
    ...notesOf(schema).rule,
  });

  const structure = (schema: z.core.$ZodType, place: Place): JsonSchema => {
    const { def } = schema._zod;
    switch (def.type) {
      case 'string':
        return stringSchema(schema);
      case 'number':
        return numberSchema(schema);
      case 'boolean':
        return { type: 'boolean' };
      case 'enum':
        return { type: 'string', ...enumOf(schema, additions.valueMeanings) };
      case 'literal': {
        const [value] = (def as z.core.$ZodLiteralDef<string | boolean>).values;
        return { type: typeof value, const: value };
      }
      case 'array': {
        const { minimum, maximum } = limitsOf(schema);
        const { element } = def as z.core.$ZodArrayDef;
        return {
          type: 'array',
          ...(minimum === undefined ? {} : { minItems: minimum }),
          ...(maximum === undefined ? {} : { maxItems: maximum }),
          items: convert(element, [...place, 0]),
        };
      }
      case 'record': {
        const { keyType, valueType } = def as z.core.$ZodRecordDef;
        const names = convert(keyType, []);
        return {
          type: 'object',
          ...(Object.keys(names).length > 1 || '$ref' in names ? { propertyNames: names } : {}),
          additionalProperties: convert(valueType, [...place, 'name']),
        };
      }
      case 'object':
        return objectSchema(schema as z.core.$ZodObject, place);
      case 'union':
        return { anyOf: (def as z.core.$ZodUnionDef).options.map((option) => convertAlternative(option, place)) };
      case 'lazy':
        return convertInline((def as z.core.$ZodLazyDef).getter(), place);
      case 'unknown':
        return {};
      case 'custom':
        if (notesOf(schema).rule !== undefined) return {};
    }
    throw new TypeError(`${place.join('.')}: no JSON Schema is known for a ${def.type}`);
  };

  const objectSchema = (schema: z.core.$ZodObject, place: Place): JsonSchema => {
    const { shape, catchall } = schema._zod.def;
    const fields = Object.entries(shape);
    const notes = notesOf(schema);
    const conditions = notes.conditions?.();
    const required = fields.filter(([, part]) => part._zod.optin !== 'optional').map(([key]) => key);
    return {
      type: 'object',
      properties: Object.fromEntries(
        fields.map(([key, part]) => {
          const converted = convert(part, [...place, key]);
          const constant = 'const' in converted ? { examples: [converted.const] } : {};
          const text = notes.fields?.[key]?.text;
          return [key, { ...annotations(text, additions.isForReference), ...constant, ...converted }];
        }),
      ),
      ...(required.length === 0 ? {} : { required }),
      ...(catchall?._zod.def.type === 'never' ? { additionalProperties: false } : {}),
      ...(conditions === undefined ? {} : { allOf: conditions.map(strictly) }),
    };
  };

  /** A field with variable expansion accepts any text with a variable. The format is checked on the machine. */
  const acceptingVariables = (schema: JsonSchema, place: Place, resolved: JsonSchema = schema): JsonSchema => {
    if (place.length === 0 || !additions.isExpandable(place) || !isRestricted(resolved)) return schema;
    const alternatives = Array.isArray(schema.anyOf) ? (schema.anyOf as JsonSchema[]) : [schema];
    return { anyOf: [...alternatives, { $ref: `#/$defs/${VARIABLE_TEXT}` }] };
  };

  const schema = convert(root, []);
  return { schema, definitions };
}

function annotations(text: FieldText | undefined, isForReference = false): JsonSchema {
  if (text === undefined) return {};
  const { description, absent, changes, example } = text;
  return {
    description: absent === undefined || isForReference ? description : `${description} Default: ${absent}.`,
    ...(isForReference ? { absent, changes } : {}),
    ...('default' in text ? { default: text.default } : {}),
    ...(example === undefined ? {} : { examples: [example] }),
  };
}

/** The values, and their meanings in `enumDescriptions`, a keyword of VS Code and yaml-language-server. */
function enumOf(schema: z.core.$ZodType, meanings: Additions['valueMeanings']): JsonSchema {
  const values = Object.values((schema._zod.def as z.core.$ZodEnumDef).entries);
  const of = meanings?.(schema);
  return { enum: values, ...(of && { enumDescriptions: values.map((value) => of[String(value)] ?? '') }) };
}

/** Whether a schema rejects some text with a variable. */
function isRestricted(schema: JsonSchema): boolean {
  if (Array.isArray(schema.anyOf)) return (schema.anyOf as JsonSchema[]).every(isRestricted);
  if (schema.type === 'object' || schema.type === 'array') return false;
  return '$ref' in schema || ['pattern', 'allOf', 'maxLength', 'enum', 'const'].some((keyword) => keyword in schema);
}

interface Limits {
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
  readonly patterns: readonly RegExp[];
}

/** The limits and patterns of a schema. Rules that are functions have no JSON Schema. */
function limitsOf(schema: z.core.$ZodType): Limits {
  const { def, traits } = schema._zod;
  // A format such as IPv4 is a schema and its own first check.
  const own = traits.has('$ZodCheck') ? [schema as unknown as z.core.$ZodCheck] : [];
  const checks = [...own, ...((def as z.core.$ZodTypeDef).checks ?? [])].map(
    ({ _zod }) =>
      _zod.def as z.core.$ZodCheckDef & { minimum?: number; maximum?: number; value?: number; pattern?: RegExp },
  );
  const values = (name: string) =>
    checks.flatMap(({ check, minimum, maximum, value }) => (check === name ? [minimum ?? maximum ?? value ?? 0] : []));
  const lower = [...values('min_length'), ...values('greater_than')];
  const upper = [...values('max_length'), ...values('less_than')];
  return {
    minimum: lower.length === 0 ? undefined : Math.max(...lower),
    maximum: upper.length === 0 ? undefined : Math.min(...upper),
    patterns: checks.flatMap(({ pattern }) => pattern ?? []),
  };
}

function stringSchema(schema: z.core.$ZodType): JsonSchema {
  const { minimum, maximum, patterns: own } = limitsOf(schema);
  const [first, ...others] = own.map(portablePattern);
  return {
    type: 'string',
    ...(minimum === undefined ? {} : { minLength: minimum }),
    ...(maximum === undefined ? {} : { maxLength: maximum }),
    ...first,
    ...(others.length > 0 ? { allOf: others } : {}),
  };
}

function numberSchema(schema: z.core.$ZodType): JsonSchema {
  const { minimum, maximum } = limitsOf(schema);
  const isWhole = (schema._zod.def as z.core.$ZodNumberFormatDef).format === 'safeint';
  return {
    type: isWhole ? 'integer' : 'number',
    ...(minimum === undefined ? {} : { minimum }),
    ...(maximum === undefined ? {} : { maximum }),
  };
}
