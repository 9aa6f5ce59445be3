import type { JsonSchema } from '@machineadm/document/fields/conditions.ts';
import { notesOf } from '@machineadm/document/fields/field.ts';
import { exampleDocument, type Role } from '@machineadm/document/index.ts';
import { CONTROLS } from '@machineadm/hardening/controls/index.ts';
import { titleOf } from '@machineadm/hardening/title.ts';
import type * as z from 'zod';
import { globalRegistry } from 'zod';
import { slugOf } from '../../site/pages.ts';

const SITE = 'https://machineadm.dev';

const CONTROL_TITLES = Object.fromEntries(CONTROLS.map((control) => [control.id, titleOf(control)]));

/** The meanings of the values of an enumeration. The meaning of a control is its title. */
export function valueMeanings(schema: z.core.$ZodType): Readonly<Record<string, string>> | undefined {
  return globalRegistry.get(schema)?.title === 'Control' ? CONTROL_TITLES : notesOf(schema).values;
}

/** The documentation page of a section, by the path of its fields. The longest prefix has precedence. */
export const PAGES: Readonly<Record<string, string>> = {
  '': 'command-line',
  variables: 'variables-and-secrets',
  secrets: 'variables-and-secrets',
  host: 'files',
  'host.accounts': 'accounts',
  'host.users': 'accounts',
  'host.groups': 'accounts',
  'host.activeDirectory': 'active-directory',
  'host.certificateAuthorities': 'certificate-authorities',
  'host.proxy': 'proxy',
  'host.services': 'services',
  'host.storage': 'storage',
  'host.time': 'time',
  containerRuntime: 'containerd',
  images: 'images',
  kubernetes: 'kubeadm',
  'kubernetes.controlPlane': 'control-plane',
  hardening: 'hardening',
  reporting: 'reporting',
};

/** The URL of the schema for editors. `machineadm example` prints it in its first line. */
function editorSchemaUrl(version: string): string {
  return `${SITE}/schema/editor/${version}.json`;
}

/**
 * The schema for editors: the published one with additional keywords of VS Code and yaml-language-server. The title of a field is
 * its path, which editors show above its description. Descriptions are Markdown with links to the reference and to a guide. The error for a value with the wrong format has a description and an example instead of a pattern.
 * Conditions across fields are left out, because editors report them as "matches a schema that is not allowed";
 * `machineadm validate` checks them.
 */
export function editorSchema(schema: JsonSchema, version: string, pages: PagesOfFields): JsonSchema {
  const { $schema, $id: _, ...rest } = schema;
  return { $schema, $id: editorSchemaUrl(version), ...part(rest, { path: '', meaning: undefined, pages }) };
}

const EXAMPLES: Readonly<Record<string, Role>> = {
  'init-control-plane': 'InitControlPlane',
  'join-control-plane': 'JoinControlPlane',
  worker: 'Worker',
};

/** The files for SchemaStore: the schema, its catalog entry, and documents that it accepts and rejects. */
export function editorFiles(
  schema: JsonSchema,
  version: string,
  pages: PagesOfFields,
): Readonly<Record<string, JsonSchema | string>> {
  const examples = Object.entries(EXAMPLES).map(([name, role]) => [`test/${name}.yaml`, exampleDocument(role)]);
  const wrong = exampleDocument('Worker').replace('role: Worker', 'role: Master');
  return {
    [`${version}.json`]: editorSchema(schema, version, pages),
    'catalog-entry.json': {
      name: 'machineadm bootstrap document',
      description: 'A bootstrap document of machineadm, which turns a machine into a Kubernetes node',
      fileMatch: ['*.machineadm.yaml', '*.machineadm.yml', 'machineadm.yaml', 'machineadm.yml'],
      url: editorSchemaUrl(version),
    },
    ...Object.fromEntries(examples),
    'negative_test/role.yaml': wrong,
  };
}

/** The page below docs/reference/fields of each field, by the path of the field. */
export type PagesOfFields = ReadonlyMap<string, string>;

interface Context {
  readonly pages: PagesOfFields;
  /** Of the field; undefined inside a definition, which several fields share. */
  readonly path: string | undefined;
  /** The description of the nearest field. */
  readonly meaning: string | undefined;
}

function part(schema: JsonSchema, context: Context): JsonSchema {
  const { description, examples } = schema;
  const inner: Context =
    typeof description === 'string' ? { ...context, meaning: meaningOf(description, examples) } : context;
  const below = (value: unknown, path: string | undefined): unknown =>
    isSchema(value) ? part(value, { ...inner, path }) : value;
  const converted: JsonSchema = {};
  for (const [keyword, value] of Object.entries(schema)) {
    switch (keyword) {
      case 'allOf':
      case 'not':
        break;
      case 'properties':
        converted.properties = mapped(value, (field, name) => {
          const path = joined(context.path, name);
          return isSchema(field)
            ? { title: path ?? name, ...without(part(field, { ...inner, path }), 'title') }
            : field;
        });
        break;
      case '$defs':
        converted.$defs = mapped(value, (definition) => below(definition, undefined));
        break;
      case 'anyOf':
        converted.anyOf = Array.isArray(value) ? value.map((one) => below(one, context.path)) : value;
        break;
      case 'items':
      case 'additionalProperties':
      case 'propertyNames':
        converted[keyword] = below(value, context.path);
        break;
      default:
        converted[keyword] = value;
    }
  }
  return {
    ...converted,
    ...(typeof description === 'string' ? { markdownDescription: markdown(description, context) } : {}),
    ...('pattern' in converted && inner.meaning !== undefined
      ? { patternErrorMessage: `This value has the wrong form. ${inner.meaning}` }
      : {}),
  };
}

function meaningOf(description: string, examples: unknown): string {
  const [example] = Array.isArray(examples) ? (examples as readonly unknown[]) : [];
  const [, first = description] = /^(.*?[.])(?:\s|$)/s.exec(description) ?? [];
  if (example === undefined) return first;
  return `${first} Example: ${typeof example === 'string' ? example : JSON.stringify(example)}`;
}

function markdown(description: string, { path, pages }: Context): string {
  if (path === undefined) return description;
  const field = longestPrefix(pages.keys(), path);
  const reference = field === '' ? 'index' : `${pages.get(field)}`;
  const links = [
    `[Reference](${SITE}/docs/reference/fields/${reference}.html${field === '' ? '' : `#${slugOf(field)}`})`,
    `[Guide](${SITE}/docs/${PAGES[longestPrefix(Object.keys(PAGES), path)]}.html)`,
  ];
  return `${description}\n\n${links.join(' · ')}`;
}

/** The longest of these paths that is the path of a field or of an ancestor; '' if none is. */
function longestPrefix(paths: Iterable<string>, path: string): string {
  return [...paths]
    .filter((prefix) => path === prefix || path.startsWith(`${prefix}.`))
    .reduce((longest, prefix) => (prefix.length > longest.length ? prefix : longest), '');
}

function without({ ...schema }: JsonSchema, keyword: string): JsonSchema {
  delete schema[keyword];
  return schema;
}

function mapped(value: unknown, change: (item: unknown, name: string) => unknown): unknown {
  if (!isSchema(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, change(item, name)]));
}

function joined(path: string | undefined, name: string): string | undefined {
  if (path === undefined) return undefined;
  return path === '' ? name : `${path}.${name}`;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
