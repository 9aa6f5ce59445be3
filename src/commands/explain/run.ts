import { DOCUMENT_VERSIONS } from '@machineadm/document/index.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import {
  isUnknownField,
  lastName,
  limitsOf,
  type SchemaField,
  SchemaFields,
  type SchemaPart,
} from '@machineadm/document/schema/published-fields.ts';
import { jsonSchema } from '@machineadm/document/versions/json-schema.ts';
import v1alpha1 from '../../../contract/fields/v1alpha1.json' with { type: 'json' };
import { wrapped } from '../../cli/layout.ts';
import { printText } from '../../cli/output.ts';
import { wrapWidthOf } from '../../cli/terminal.ts';
import { usageError } from '../../cli/usage-error.ts';

export interface ExplainOptions {
  readonly recursive?: true;
}

/** What the reference says of a field beside its schema; `npm run generate` writes it together with the pages. */
export interface FieldFacts {
  readonly values?: readonly (readonly [value: string, meaning: string])[];
  /** What it changes on the machine; absent: what the field that it is in changes. */
  readonly changes?: string;
  readonly platform?: string;
  /** The fields or flags of kubeadm, and the versions of kubeadm that have them. */
  readonly kubeadm?: { readonly names: readonly string[]; readonly versions: string };
  /** The first version of machineadm that reads the field. */
  readonly since: string;
}

const FACTS = v1alpha1 as unknown as Readonly<Record<string, FieldFacts>>;

const INDENT = 4;
const DEFAULT_WIDTH = 80;
const WIDEST = 100;

/** `machineadm explain PATH`: what the reference says of a field of the document, in the form of `kubectl explain`. */
export async function explain(path: string, { recursive }: ExplainOptions): Promise<number> {
  const version = DOCUMENT_VERSIONS.at(-1);
  const schema: SchemaPart | undefined = jsonSchema(version?.apiVersion);
  if (version === undefined || schema === undefined) throw new Error('there is no schema');
  const fields = new SchemaFields(schema);
  const found = fields.find(path);
  if (isUnknownField(found)) {
    throw usageError(
      `there is no field "${found.name}" ${found.below === '' ? 'in the document' : `below ${found.below}`}`,
      `${found.hint.charAt(0).toUpperCase()}${found.hint.slice(1)} \`machineadm explain --recursive\` lists all.`,
    );
  }
  const head = ['KIND:       MachineBootstrap', `VERSION:    ${version.apiVersion}`, ''];
  const names = recursive === true ? tree(fields, found) : [];
  // A field with none below it is explained itself.
  const body = names.length > 0 ? names : await page(fields, found);
  printText([...head, ...body].join('\n'));
  return exitCode('Success');
}

async function page(fields: SchemaFields, field: SchemaField): Promise<readonly string[]> {
  const { part } = field;
  const below = fields.fieldsOf(field);
  const kinds = fields.kindsOf(field);
  const { values, platform, kubeadm, since } = FACTS[factsPath(field.path)] ?? {};
  const allowed = values?.map(([value, meaning]) => `${value}: ${meaning}`) ?? [
    part.enum?.join(', ') ?? limitsOf(part) ?? '',
  ];
  return [
    ...(field.path === '' ? [] : [`FIELD:      ${signature(field)}`, '']),
    ...section('DESCRIPTION', paragraph(part.description ?? '', INDENT)),
    ...section('DEFAULT', part.default === undefined ? [] : await yaml(part.default)),
    ...section('ALLOWED', texts(allowed)),
    ...section('CHANGES', texts([changesOf(field.path)])),
    ...section('PLATFORM', texts([platform ?? ''])),
    ...section('KUBEADM', texts([...(kubeadm?.names ?? []), kubeadm?.versions ?? ''])),
    ...section('EXAMPLE', await examples(field)),
    ...section('SINCE', texts([since ?? ''])),
    ...section('FIELDS', below.flatMap(summary)),
    ...section('ONE OF', kinds.flatMap(summary)),
  ];
}

/** The path of a field as the reference has it: without the keys of maps. */
function factsPath(path: string): string {
  const below = (known: string, name: string) => (known === '' ? name : `${known}.${name}`);
  return path.split('.').reduce((known, name) => (below(known, name) in FACTS ? below(known, name) : known), '');
}

/** Of the field itself, or else of the nearest field that it is in, with its path. */
function changesOf(path: string): string {
  const own = factsPath(path);
  for (let at = own; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) {
    const changes = FACTS[at]?.changes;
    if (changes !== undefined) return at === own ? changes : `${changes} (${at})`;
  }
  return '';
}

/** The name of a field with its type: `join <object>`. */
function signature({ path, type, required }: SchemaField, name = path): string {
  return `${name} <${type}>${required ? ' -required-' : ''}`;
}

function summary(field: SchemaField): readonly string[] {
  const text = paragraph(field.part.description ?? '', 2 * INDENT);
  return [`${' '.repeat(INDENT)}${signature(field, lastName(field.path))}`, ...text, ''];
}

function section(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  return [`${title}:`, ...lines, ...(lines.at(-1) === '' ? [] : [''])];
}

/** All names below a field, each level deeper. */
function tree(fields: SchemaFields, field: SchemaField, depth = 0, seen: ReadonlySet<string> = new Set()): string[] {
  const below = [...fields.fieldsOf(field), ...fields.kindsOf(field)];
  return below.flatMap((one) => [
    `${' '.repeat(2 * depth)}${signature(one, lastName(one.path))}`,
    // A type that holds itself, such as a table of TOML, is shown once.
    ...(seen.has(one.type) ? [] : tree(fields, one, depth + 1, new Set([...seen, one.type].filter(isShared)))),
  ]);
}

function isShared(type: string): boolean {
  return /^[A-Z]/.test(type);
}

/** The first example where it stands in a document: `sysctl:` and the values below it. */
async function examples({ path, part }: SchemaField): Promise<readonly string[]> {
  const example = part.examples?.[0];
  if (example === undefined) return [];
  return await yaml(path === '' ? example : { [lastName(path)]: example });
}

async function yaml(value: unknown): Promise<readonly string[]> {
  const { stringify } = await import('yaml');
  return stringify(value)
    .trimEnd()
    .split('\n')
    .map((line) => `${' '.repeat(INDENT)}${line}`);
}

function texts(list: readonly string[]): readonly string[] {
  return list.flatMap((text) => paragraph(text, INDENT));
}

/** Text in lines as wide as the terminal, within reason; 80 columns in a pipe. */
function paragraph(text: string, indent: number): readonly string[] {
  if (text === '') return [];
  const width = Math.min(WIDEST, wrapWidthOf(process.stdout) ?? DEFAULT_WIDTH);
  return wrapped(`${' '.repeat(indent)}${text.replace(/\s+/g, ' ')}`, width, indent);
}
