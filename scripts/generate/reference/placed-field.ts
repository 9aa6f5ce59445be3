import type { SchemaField, SchemaFields, SchemaPart } from '@machineadm/document/schema/published-fields.ts';

/** A part of the schema, with the annotations that only the generated pages have. */
export interface ReferencePart extends SchemaPart {
  readonly enumDescriptions?: readonly string[];
  /** The effect of its absence. */
  readonly absent?: string | undefined;
  /** What the field changes on the machine. */
  readonly changes?: string | undefined;
}

/** A field with its ancestors. `machineadm explain` takes the same path. */
export interface PlacedField {
  readonly field: SchemaField;
  /** Its ancestors, the outermost first, without the document itself. */
  readonly above: readonly SchemaField[];
}

/** Every field of the document, each followed by its descendants. */
export function placedFields(
  fields: SchemaFields,
  field: SchemaField,
  above: readonly SchemaField[] = [],
): PlacedField[] {
  const inside = field.path === '' ? [] : [...above, field];
  return [...fields.fieldsOf(field), ...fields.kindsOf(field)].flatMap((one) => [
    { field: one, above: inside },
    ...placedFields(fields, one, inside),
  ]);
}

/** Sample values of a field: all values of an enumeration, both of a boolean, otherwise its example without variables. */
export function valuesOf({ part }: SchemaField): readonly unknown[] {
  if (part.const !== undefined) return [part.const];
  if (part.enum !== undefined) return part.enum;
  if (part.type === 'boolean') return [true, false];
  return JSON.parse(JSON.stringify(part.examples ?? []).replace(/\$\{\w+\}/g, 'value')) as readonly unknown[];
}

/**
 * The sections of a document with this value for the field; undefined omits the field. The objects around the field have
 * the other fields of their examples, unless those are alternatives to it.
 */
export function sectionsWith({ field, above }: PlacedField, value?: unknown): Readonly<Record<string, unknown>> {
  let placed = value;
  let below = field;
  for (const parent of above.toReversed()) {
    const name = lastName(below.path);
    // A variant, such as a kind of sink, is an entry of the list, and not a field of an entry.
    if (!isVariant(below)) {
      const { [name]: _, ...beside } = besideOf(parent) as Record<string, unknown>;
      placed = placed === undefined ? beside : { ...beside, [name]: placed };
    }
    if (isVariant(parent)) placed = { type: lastName(parent.path), ...(placed as object) };
    else placed = entryOf(parent, placed);
    below = parent;
  }
  return { [below.path]: placed };
}

function isVariant({ part }: SchemaField): boolean {
  return part.properties?.type?.const !== undefined;
}

/** A list or a map with this one entry, or the entry itself. */
function entryOf({ type }: SchemaField, entry: unknown): unknown {
  if (type.startsWith('[]')) return [entry];
  return type.startsWith('map[string]') ? { name: entry } : entry;
}

function besideOf({ part, type }: SchemaField): object {
  if (part.anyOf !== undefined) return {};
  const [example] = part.examples ?? [];
  const entry = type.startsWith('map[string]')
    ? Object.values(Object(example))[0]
    : Array.isArray(example)
      ? example[0]
      : example;
  return typeof entry === 'object' && entry !== null ? entry : {};
}

export function lastName(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}
