import { jsonSchema } from '@machineadm/document/versions/json-schema.ts';

/** What a string of a field may be: a secret by its type, any text, a URL, or any value at all. */
export type FieldKind = 'secret' | 'text' | 'URL' | 'any';

/** Texts with a secret in them, as people write them into fields that are not for secrets. */
const PROBES: readonly (readonly [FieldKind, string])[] = [
  ['text', 'PASSWORD=q7abcdef "x" y'],
  ['URL', 'https://user:q7abcdef@x.example/p?token=q7'],
];

type Schema = Readonly<Record<string, unknown>>;

/**
 * Every field of the document into which a secret could be written, by its path: `host.files[].content`, with `*` for keys
 * that the user chooses and `(Webhook)` for a kind of a union. Fields whose form leaves no room for a secret are left out.
 */
export function fieldsForSecrets(): ReadonlyMap<string, FieldKind> {
  const root = jsonSchema();
  if (root === undefined) throw new TypeError('no schema');
  const fields = new Map<string, FieldKind>();
  const visit = (node: unknown, path: string, references: readonly string[]): void => {
    if (!isSchema(node)) return;
    const { $ref: reference, properties, additionalProperties, items } = node;
    if (typeof reference === 'string') {
      if (references.includes(reference)) fields.set(path, 'any');
      else visit(resolve(root, reference), path, [...references, reference]);
      return;
    }
    const kind = kindOf(node);
    if (kind !== undefined) fields.set(path, kind);
    if (kind === 'secret') return;
    for (const branch of alternativesOf(node)) visit(branch, `${path}${discriminator(root, branch)}`, references);
    if (isSchema(properties))
      for (const [key, child] of Object.entries(properties))
        visit(child, path === '' ? key : `${path}.${key}`, references);
    if (isSchema(additionalProperties)) visit(additionalProperties, `${path}.*`, references);
    else if (node.type === 'object' && additionalProperties === undefined) fields.set(`${path}.*`, 'any');
    visit(items, `${path}[]`, references);
  };
  visit(root, '', []);
  return fields;
}

/** Every field of the document that is nothing but a value, by its path, as `fieldsForSecrets` writes it. */
export function leafFields(): readonly string[] {
  const root = jsonSchema();
  if (root === undefined) throw new TypeError('no schema');
  const fields = new Set<string>();
  const visit = (node: unknown, path: string, references: readonly string[]): void => {
    if (!isSchema(node)) return;
    const { $ref: reference, properties, additionalProperties, items } = node;
    if (typeof reference === 'string') {
      if (!references.includes(reference)) visit(resolve(root, reference), path, [...references, reference]);
      return;
    }
    const branches = alternativesOf(node);
    for (const branch of branches) visit(branch, path, references);
    for (const [key, child] of Object.entries(isSchema(properties) ? properties : {}))
      visit(child, path === '' ? key : `${path}.${key}`, references);
    if (isSchema(additionalProperties)) visit(additionalProperties, `${path}.*`, references);
    visit(items, `${path}[]`, references);
    const isValue = !isSchema(properties) && !isSchema(additionalProperties) && !isSchema(items);
    if (isValue && branches.length === 0) fields.add(path);
  };
  visit(root, '', []);
  return [...fields];
}

const ANNOTATIONS: readonly string[] = ['description', 'title', 'default', 'examples'];

function kindOf(node: Schema): FieldKind | undefined {
  if (isSecret(node)) return 'secret';
  if (Object.keys(node).every((key) => ANNOTATIONS.includes(key))) return 'any';
  if (node.type !== 'string' || node.enum !== undefined || node.const !== undefined) return undefined;
  if (node.format === 'uri') return 'URL';
  if (node.format !== undefined) return undefined;
  const { maxLength } = node;
  const patterns = [node, ...schemasIn(node.allOf)].flatMap(({ pattern }) =>
    typeof pattern === 'string' ? [pattern] : [],
  );
  return PROBES.find(
    ([, text]) =>
      patterns.every((pattern) => new RegExp(pattern, 'u').test(text)) &&
      (typeof maxLength !== 'number' || text.length <= maxLength),
  )?.[0];
}

/** A text, or `{secret: name}`. */
function isSecret(node: Schema): boolean {
  const branches = alternativesOf(node);
  return (
    branches.some(({ type }) => type === 'string') &&
    branches.some(({ properties }) => isSchema(properties) && Object.keys(properties).join() === 'secret')
  );
}

/** Each can be what the value is. What `allOf` holds are rules across fields. */
function alternativesOf({ anyOf, oneOf }: Schema): readonly Schema[] {
  return [...schemasIn(anyOf), ...schemasIn(oneOf)];
}

function schemasIn(list: unknown): readonly Schema[] {
  return Array.isArray(list) ? list.filter(isSchema) : [];
}

/** `(Webhook)` for the kind of a union that it is. */
function discriminator(root: Schema, branch: Schema): string {
  const resolved = typeof branch.$ref === 'string' ? resolve(root, branch.$ref) : branch;
  const properties = isSchema(resolved) ? resolved.properties : undefined;
  const type = isSchema(properties) ? properties.type : undefined;
  return isSchema(type) && typeof type.const === 'string' ? `(${type.const})` : '';
}

function resolve(root: Schema, reference: string): unknown {
  return reference
    .split('/')
    .slice(1)
    .reduce<unknown>((node, key) => (isSchema(node) ? node[key] : undefined), root);
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
