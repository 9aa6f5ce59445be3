import { jsonSchema } from '@machineadm/document/versions/json-schema.ts';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

let compiled: ValidateFunction | undefined;

/** The published JSON Schema, compiled by ajv in its strict mode: once, because that takes a second. */
export function publishedSchema(): ValidateFunction {
  compiled ??= new Ajv2020({ strict: true }).compile(jsonSchema() ?? {});
  return compiled;
}

interface SchemaOfFields {
  readonly schema: object;
  /** The references to the fields, by their JSON pointers in the original schema. */
  readonly references: ReadonlyMap<string, string>;
}

/**
 * The same schema with each field in `$defs`. ajv compiles a definition once, but a field also with everything that
 * contains it.
 */
export function schemaOfFields(schema: Readonly<Record<string, unknown>>): SchemaOfFields {
  const definitions: Record<string, unknown> = {};
  const references = new Map<string, string>();
  const $id = `${String(schema.$id)}/fields`;
  const hoisted = (value: unknown, pointer: string): unknown => {
    if (Array.isArray(value)) return value.map((one, index) => hoisted(one, `${pointer}/${index}`));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, child]) => {
        const below = `${pointer}/${key}`;
        if (!/\/(?:properties|\$defs)$/.test(pointer) || /\/properties\/properties$/.test(pointer)) {
          return [key, isData(key) ? child : hoisted(child, below)];
        }
        const name = `field-${references.size}`;
        references.set(below, `${$id}#/$defs/${name}`);
        definitions[name] = hoisted(child, below);
        return [key, { $ref: `#/$defs/${name}` }];
      }),
    );
  };
  const root = hoisted(schema, '') as Record<string, unknown>;
  return { schema: { ...root, $id, $defs: { ...(root.$defs as object), ...definitions } }, references };
}

function isData(key: string): boolean {
  return ['examples', 'default', 'const', 'enum'].includes(key);
}
