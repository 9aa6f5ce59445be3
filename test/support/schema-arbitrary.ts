import { toPlain } from '@machineadm/document/trees/tree.ts';
import { exampleDocument } from '@machineadm/document/versions/example.ts';
import { parseYaml } from '@machineadm/document/yaml/parse.ts';
import fc from './property.ts';

/** Documents from the published JSON Schema: its examples, defaults and choices in ever new combinations. */

type Schema = Readonly<Record<string, unknown>>;

const WORDS = [
  'a',
  '/srv/a',
  '10.0.0.1',
  'https://a.example/x',
  'http://a.example/x',
  '${v}',
  '$${v}',
  '',
  ' ',
  'a\n',
  'é',
  'X',
];

/** Values for a schema, most of which it accepts. */
export function valuesOf(schema: Schema, root: Schema, depth = 0): fc.Arbitrary<unknown> {
  if (typeof schema.$ref === 'string') {
    const definitions = root.$defs as Readonly<Record<string, Schema>>;
    const name = schema.$ref.replace('#/$defs/', '');
    // A table of TOML holds tables.
    if (depth > 8) return given(definitions[name] ?? {});
    return fc.oneof(
      { weight: 1, arbitrary: given(schema) },
      { weight: 2, arbitrary: valuesOf(definitions[name] ?? {}, root, depth) },
    );
  }
  const made = madeFor(schema, root, depth);
  const known = [
    ...((schema.examples as unknown[] | undefined) ?? []),
    ...('default' in schema ? [schema.default] : []),
  ];
  if (known.length === 0) return made;
  // Of an object its parts are more telling than its example.
  const weight = schema.type === 'object' || schema.type === 'array' || 'anyOf' in schema ? 1 : 6;
  return fc.oneof({ weight, arbitrary: fc.constantFrom(...known) }, { weight: 2, arbitrary: made });
}

function given(schema: Schema): fc.Arbitrary<unknown> {
  const examples = (schema.examples as unknown[] | undefined) ?? [];
  return examples.length === 0 ? fc.constantFrom(...WORDS) : fc.constantFrom(...examples);
}

function madeFor(schema: Schema, root: Schema, depth: number): fc.Arbitrary<unknown> {
  if ('const' in schema) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as unknown[]));
  if (Array.isArray(schema.anyOf)) {
    return fc.oneof(...(schema.anyOf as Schema[]).map((part) => valuesOf(part, root, depth)));
  }
  switch (schema.type) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
    case 'number':
      return fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constantFrom(0, -1, 1.5, 70_000));
    case 'array':
      return fc.array(valuesOf(schema.items as Schema, root, depth + 1), {
        minLength: depth > 5 ? 0 : 1,
        maxLength: depth > 5 ? 0 : 2,
      });
    case 'object':
      return objects(schema, root, depth);
    case 'string':
      return fc.constantFrom(...WORDS);
    default:
      return fc.constantFrom<unknown>(1, 'a', true, {});
  }
}

function objects(schema: Schema, root: Schema, depth: number): fc.Arbitrary<unknown> {
  const properties = Object.entries((schema.properties as Readonly<Record<string, Schema>> | undefined) ?? {});
  if (properties.length === 0) {
    const values = schema.additionalProperties;
    if (typeof values !== 'object' || values === null) return fc.constant({});
    return fc.dictionary(
      fc.constantFrom('a', 'net.ipv4.ip_forward', 'TOKEN', 'X-A', 'nvidia'),
      valuesOf(values as Schema, root, depth + 1),
      { maxKeys: 2 },
    );
  }
  const required = new Set(schema.required as string[] | undefined);
  const parts = properties.map(([name, part]) => [name, valuesOf(part, root, depth + 1)] as const);
  // Few of the optional ones at a time: of many, one is always wrong.
  const optional = properties.map(([name]) => name).filter((name) => !required.has(name));
  return fc
    .subarray(optional, { maxLength: Math.min(3, optional.length) })
    .chain((chosen) =>
      fc.record(Object.fromEntries(parts.filter(([name]) => required.has(name) || chosen.includes(name)))),
    );
}

type Document = Record<string, unknown>;

/** The published example of each role, with one or two parts of it replaced, added or broken. */
export function changedDocuments(root: Schema): fc.Arbitrary<Document> {
  const bases = (['InitControlPlane', 'JoinControlPlane', 'Worker'] as const).map((role) => {
    const tree = parseYaml('example', exampleDocument(role), []);
    return (tree === undefined ? {} : toPlain(tree)) as Document;
  });
  // Whatever examples refer to is there.
  const named = [...JSON.stringify(root).matchAll(/"secret":"(\w+)"/g)].map(([, name = '']) => [
    name,
    { env: 'SECRET' },
  ]);
  const references = {
    secrets: Object.fromEntries(named) as unknown,
    variables: { v: { env: 'V' }, rack: { env: 'RACK' }, hostname: { env: 'HOST_NAME' } },
  };
  const { apiVersion: _apiVersion, kind: _kind, ...sections } = root.properties as Readonly<Record<string, Schema>>;
  const weights: Readonly<Record<string, number>> = { kubernetes: 8, host: 5 };
  const changes = fc.oneof(
    ...Object.entries(sections).map(([name, section]) => ({
      weight: weights[name] ?? 2,
      arbitrary: changesBelow(section, root, [name]),
    })),
  );
  return fc.tuple(fc.constantFrom(...bases), fc.array(changes, { minLength: 1, maxLength: 2 })).map(([base, made]) => {
    const document = { ...structuredClone(base), ...structuredClone(references) };
    for (const { path, value } of made) set(document, path, value);
    return document;
  });
}

interface Change {
  readonly path: readonly string[];
  readonly value: unknown;
}

function changesBelow(schema: Schema, root: Schema, path: readonly string[]): fc.Arbitrary<Change> {
  const definitions = root.$defs as Readonly<Record<string, Schema>>;
  const resolved =
    typeof schema.$ref === 'string' ? { ...definitions[schema.$ref.replace('#/$defs/', '')], ...schema } : schema;
  const whole = valuesOf(schema, root, 3).map((value) => ({ path, value }));
  if (resolved.type !== 'object' || resolved.properties === undefined) return whole;
  const parts = Object.entries(resolved.properties as Readonly<Record<string, Schema>>);
  return fc.oneof(whole, ...parts.map(([name, part]) => changesBelow(part, root, [...path, name])));
}

function set(document: Document, path: readonly string[], value: unknown): void {
  const [key = '', ...rest] = path;
  if (rest.length === 0) {
    // Examples belong to the schema, and a later change reaches into this value.
    document[key] = structuredClone(value);
    return;
  }
  const part = document[key];
  const next = part !== null && typeof part === 'object' && !Array.isArray(part) ? (part as Document) : {};
  document[key] = next;
  set(next, rest, value);
}
