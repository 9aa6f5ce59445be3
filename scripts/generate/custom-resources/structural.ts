import type { JsonSchema } from '@machineadm/document/fields/conditions.ts';
import { VARIABLE_TEXT } from '../document-schema/convert.ts';

type Definitions = Readonly<Record<string, JsonSchema>>;

/** Any value: the API server neither checks nor removes it. */
const ANYTHING: JsonSchema = { 'x-kubernetes-preserve-unknown-fields': true };
const LIMITS = ['enum', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum', 'minItems', 'maxItems'] as const;

/**
 * A JSON Schema as the structural schema of a CustomResourceDefinition (k8s docs, custom resources: structural schema). It
 * accepts every value that the JSON Schema accepts. What a structural schema cannot say (references to itself, unions,
 * conditions across fields) is left out, for our own validation. Nothing is defaulted, and no unknown field is removed
 * silently: our validation names it.
 */
export function structuralSchema(schema: JsonSchema, definitions: Definitions): JsonSchema {
  return new Conversion(definitions).of(schema, []);
}

class Conversion {
  readonly #definitions: Definitions;

  constructor(definitions: Definitions) {
    this.#definitions = definitions;
  }

  /** @param within names of the definitions that are being converted */
  of(schema: JsonSchema, within: readonly string[]): JsonSchema {
    const { $ref: reference, ...own } = schema;
    if (typeof reference === 'string') {
      const name = reference.replace('#/$defs/', '');
      const definition = this.#definitions[name];
      if (definition === undefined) throw new TypeError(`there is no definition ${name}`);
      if (within.includes(name)) return { ...described(schema), ...ANYTHING };
      return this.of({ ...definition, ...own }, [...within, name]);
    }
    return { ...described(schema), ...this.#value(schema, within) };
  }

  #value(schema: JsonSchema, within: readonly string[]): JsonSchema {
    if (Array.isArray(schema.anyOf)) return this.#union(schema.anyOf as JsonSchema[], within);
    if ('const' in schema && typeof schema.const === 'string') return { type: 'string', enum: [schema.const] };
    switch (schema.type) {
      case 'object':
        return this.#object(schema, within);
      case 'array':
        return { type: 'array', ...limits(schema), items: this.of((schema.items ?? {}) as JsonSchema, within) };
      case 'string':
      case 'integer':
      case 'number':
      case 'boolean':
        return { type: schema.type, ...limits(schema) };
      default:
        return ANYTHING;
    }
  }

  #object(schema: JsonSchema, within: readonly string[]): JsonSchema {
    const properties = Object.entries((schema.properties ?? {}) as Definitions);
    const { additionalProperties: others, required } = schema;
    if (properties.length === 0) {
      const values = typeof others === 'object' ? this.of(others as JsonSchema, within) : ANYTHING;
      return values === ANYTHING
        ? { type: 'object', ...ANYTHING }
        : { type: 'object', additionalProperties: { ...values } };
    }
    return {
      type: 'object',
      ...ANYTHING,
      properties: Object.fromEntries(properties.map(([name, property]) => [name, this.of(property, within)])),
      ...(Array.isArray(required) && required.length > 0 ? { required } : {}),
    };
  }

  /** The union as one schema: its common type, with everything that any alternative allows. */
  #union(alternatives: readonly JsonSchema[], within: readonly string[]): JsonSchema {
    const isExpandable = alternatives.some(({ $ref: reference }) => reference === `#/$defs/${VARIABLE_TEXT}`);
    const values = alternatives
      .filter(({ $ref: reference }) => reference !== `#/$defs/${VARIABLE_TEXT}`)
      .map((one) => this.of(one, within));
    const [first, ...others] = values;
    if (first === undefined) return { type: 'string' };
    if (isExpandable && first.type !== 'string') return ANYTHING;
    return others.reduce(united, isExpandable ? { type: 'string' } : first);
  }
}

/** One schema that accepts what either accepts. */
function united(one: JsonSchema, other: JsonSchema): JsonSchema {
  if (JSON.stringify(one) === JSON.stringify(other)) return one;
  if (one.type === undefined || one.type !== other.type) return ANYTHING;
  const text = described(one);
  if (one.type === 'array') {
    return { ...text, type: 'array', items: united(one.items as JsonSchema, other.items as JsonSchema) };
  }
  if (one.type !== 'object') return { ...text, type: one.type };
  const [ours, theirs] = [one, other].map(({ properties }) => properties as Definitions | undefined);
  if (ours === undefined || theirs === undefined) return { ...text, type: 'object', ...ANYTHING };
  const both = { ...ours, ...theirs };
  const required = [one, other].map((side) => (side.required ?? []) as readonly string[]);
  const always = required[0]?.filter((name) => required[1]?.includes(name)) ?? [];
  return {
    ...text,
    type: 'object',
    ...ANYTHING,
    properties: Object.fromEntries(
      Object.entries(both).map(([name, property]) => {
        const before = ours[name];
        return [name, before === undefined ? property : united(before, property)];
      }),
    ),
    ...(always.length === 0 ? {} : { required: always }),
  };
}

function limits(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(LIMITS.flatMap((name) => (name in schema ? [[name, schema[name]]] : [])));
}

function described({ description, default: fallback }: JsonSchema): JsonSchema {
  if (typeof description !== 'string') return {};
  const isSaid = fallback === undefined || description.includes('Default:');
  return { description: isSaid ? description : `${description} Default: ${JSON.stringify(fallback)}.` };
}
