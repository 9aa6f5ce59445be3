/** The keywords of JSON Schema that define the structure of values in the published schema. */
export interface Schema {
  readonly description?: string;
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly type?: string;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly $defs?: Readonly<Record<string, Schema>>;
}

const HEADER = 'Written by `npm run generate` from contract/schema; do not edit.';

/**
 * The TypeScript types of a document, from its schema. They describe the structure only: `validateDocument` checks
 * patterns, ranges and rules across fields.
 */
export function typescriptTypes(root: Schema): string {
  const definitions = Object.entries(root.$defs ?? {}).map(
    ([name, schema]) => `${comment(schema, '')}export type ${name} = ${typeOf(schema, '')};\n`,
  );
  const { $defs: _, ...document } = root;
  return [
    `// ${HEADER}\n`,
    `/** A bootstrap document. */\nexport interface MachineBootstrap ${typeOf(document, '')}\n`,
    ...definitions,
  ].join('\n');
}

function typeOf(schema: Schema, indent: string): string {
  const alternatives = schema.anyOf ?? schema.oneOf;
  // Next to properties, `anyOf` and `oneOf` are conditions and do not change the structure.
  if (alternatives !== undefined && schema.properties === undefined) {
    return [...new Set(alternatives.map((one) => typeOf(one, indent)))].join(' | ');
  }
  if (schema.$ref !== undefined) return schema.$ref.replace(/^.*\//, '');
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ');
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'number':
    case 'null':
      return schema.type;
    case 'integer':
      return 'number';
    case 'array':
      return `readonly (${typeOf(schema.items ?? {}, indent)})[]`;
    case 'object':
      return objectType(schema, indent);
    default:
      return 'unknown';
  }
}

function objectType(schema: Schema, indent: string): string {
  const { properties = {}, required = [], additionalProperties } = schema;
  const inside = `${indent}  `;
  const lines = Object.entries(properties).map(
    ([name, property]) =>
      `${comment(property, inside)}${inside}readonly ${quoted(name)}${required.includes(name) ? '' : '?'}: ${typeOf(property, inside)};\n`,
  );
  if (additionalProperties !== false) {
    const value = typeof additionalProperties === 'object' ? typeOf(additionalProperties, inside) : 'unknown';
    // The type of an index signature must include the types of all named properties.
    lines.push(`${inside}readonly [key: string]: ${lines.length === 0 ? value : 'unknown'};\n`);
  }
  return `{\n${lines.join('')}${indent}}`;
}

/** A literal. Strings have single quotes, as in all sources. */
function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value.replace(/[\\']/g, '\\$&')}'` : JSON.stringify(value);
}

function quoted(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name);
}

function comment({ description }: Schema, indent: string): string {
  return description === undefined ? '' : `${indent}/** ${description.replaceAll('*/', '*\\/')} */\n`;
}
