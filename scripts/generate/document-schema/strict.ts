import type { JsonSchema } from '@machineadm/document/fields/conditions.ts';

/** Keywords whose subschemas apply to the same value. */
const SAME_VALUE = ['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else', 'not'];
/** Keywords whose subschemas apply to a part of the value. */
const PARTS = ['items', 'contains', 'additionalProperties', 'propertyNames'];

const TYPE_OF: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['properties', 'required', 'additionalProperties', 'propertyNames', 'minProperties'].map((name) => [
      name,
      'object',
    ]),
  ),
  ...Object.fromEntries(['items', 'contains', 'minItems', 'maxItems', 'uniqueItems'].map((name) => [name, 'array'])),
  ...Object.fromEntries(['pattern', 'minLength', 'maxLength'].map((name) => [name, 'string'])),
};

/** A condition for the strict mode of ajv: it declares each required property, and each value has a type. */
export function strictly(schema: JsonSchema): JsonSchema {
  const strict = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, within(keyword, value)]),
  );
  if (!Array.isArray(schema.required)) return strict;
  const names = (schema.required as string[]).map((name) => [name, true]);
  return { ...strict, properties: { ...Object.fromEntries(names), ...(strict.properties as object) } };
}

function within(keyword: string, value: unknown): unknown {
  if (keyword === 'properties') {
    return Object.fromEntries(Object.entries(value as object).map(([name, part]) => [name, ofPart(part)]));
  }
  if (PARTS.includes(keyword)) return ofPart(value);
  if (!SAME_VALUE.includes(keyword)) return value;
  return Array.isArray(value) ? (value as JsonSchema[]).map(strictly) : strictly(value as JsonSchema);
}

function ofPart(value: unknown): unknown {
  if (typeof value !== 'object') return value;
  const schema = value as JsonSchema;
  const [type, ...others] = new Set(typesOf(schema));
  return { ...(type === undefined || others.length > 0 ? {} : { type }), ...strictly(schema) };
}

/** The types that the keywords of a schema apply to; none if it has a `type`. */
function typesOf(schema: JsonSchema): readonly string[] {
  if (schema.type !== undefined) return [];
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const type = TYPE_OF[keyword];
    if (type !== undefined) return [type];
    if (!SAME_VALUE.includes(keyword)) return [];
    return (Array.isArray(value) ? (value as JsonSchema[]) : [value as JsonSchema]).flatMap(typesOf);
  });
}
