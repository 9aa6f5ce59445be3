/** A JSON Schema as far as the published schema of the document uses it for the shape of values. */
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
 * The types of a document in TypeScript, from its schema. They have its shape: patterns, ranges and rules across fields
 * are for `validateDocument`.
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
  // Conditions beside properties narrow them; they are no other shape.
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
    // With names beside it, an index takes what they have, too.
    lines.push(`${inside}readonly [key: string]: ${lines.length === 0 ? value : 'unknown'};\n`);
  }
  return `{\n${lines.join('')}${indent}}`;
}

/** JSON's text in single quotes, as the house writes strings. */
function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value.replace(/[\\']/g, '\\$&')}'` : JSON.stringify(value);
}

function quoted(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name);
}

function comment({ description }: Schema, indent: string): string {
  return description === undefined ? '' : `${indent}/** ${description.replaceAll('*/', '*\\/')} */\n`;
}
