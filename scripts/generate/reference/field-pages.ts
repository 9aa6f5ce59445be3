import { DOCUMENT_VERSIONS } from '@machineadm/document/index.ts';
import { NEWEST_KNOWN_MINOR, OLDEST_MINOR } from '@machineadm/document/kubernetes-releases/minor.ts';
import {
  isUnknownField,
  limitsOf,
  type SchemaField,
  SchemaFields,
} from '@machineadm/document/schema/published-fields.ts';
import { stringify } from 'yaml';
import { slugOf } from '../../../site/pages.ts';
import type { FieldFacts } from '../../../src/commands/explain/run.ts';
import { documentSchema } from '../document-schema/index.ts';
import { PAGES, valueMeanings } from '../editor-schema.ts';
import { type KubeadmField, KubeadmFields } from './kubeadm-fields.ts';
import { lastName, type PlacedField, placedFields, type ReferencePart } from './placed-field.ts';
import { type Platforms, platformsOf } from './platform.ts';

/** The facts about a field in the reference. */
export interface FieldReference extends PlacedField {
  readonly part: ReferencePart;
  /** The text of the field, or of its nearest ancestor with one. */
  readonly changes: string;
  /** The version of machineadm that first read it. */
  readonly since: string;
  readonly platforms: Platforms;
  /** The parent field has the same reason, and its entry states it. */
  readonly isPlatformOfParent: boolean;
  readonly kubeadm: KubeadmField | undefined;
}

const FOLDER = 'docs/reference/fields';
/** Lines `PATH VERSION`, sorted. */
export const FIELD_RECORD = 'test/fixtures/fields.txt';
const FIELD_FACTS = `contract/fields/${DOCUMENT_VERSIONS.at(-1)?.apiVersion.split('/')[1]}.json`;

/** Sections with many fields have a page for each of their larger parts. */
const SPLIT: readonly string[] = ['host', 'kubernetes', 'reporting'];
const FIELDS_OF_A_PAGE = 8;

/** Every field of the newest version of the document. */
function fieldReferences(recorded: string, version: string): readonly FieldReference[] {
  const newest = DOCUMENT_VERSIONS.at(-1);
  if (newest === undefined) throw new TypeError('there is no version of the document');
  const schema = documentSchema(newest, valueMeanings, true);
  const fields = new SchemaFields(schema);
  const root = fields.find('');
  if (isUnknownField(root)) throw new TypeError(root.hint);
  const since = recordOf(recorded);
  const kubeadm = new KubeadmFields();
  const known = new Map<string, Platforms>();
  return placedFields(fields, root).map((placed) => {
    const { field, above } = placed;
    const parent = above.at(-1);
    const platforms = platformsOf(placed);
    known.set(field.path, platforms);
    const chain = [...above, field].toReversed().map(({ part }) => part as ReferencePart);
    const changes = chain.find((part) => part.changes !== undefined)?.changes;
    if (changes === undefined) throw new TypeError(`${field.path}: nothing says what it changes on the machine`);
    return {
      ...placed,
      part: field.part as ReferencePart,
      changes,
      since: since.get(field.path) ?? version,
      platforms,
      isPlatformOfParent: parent !== undefined && known.get(parent.path)?.why === platforms.why,
      kubeadm: field.path.startsWith('kubernetes.') ? kubeadm.find(placed) : undefined,
    };
  });
}

/**
 * The pages of the reference by their path, and the record of the version that first read each field. Recorded versions do
 * not change; a new field gets the version of these sources.
 */
export function fieldPages(recorded: string, version: string): ReadonlyMap<string, string> {
  const references = fieldReferences(recorded, version);
  const facts = Object.fromEntries(references.map((one) => [one.field.path, factsOf(one)]));
  const pages = paged(references);
  const pageOfField = namesOf(pages);
  const children = Map.groupBy(pageOfField.keys(), (path) => path.split('.').slice(0, -1).join('.'));
  const inside = (path: string, name: string): string | undefined =>
    children
      .get(path)
      ?.map((child) => {
        const file = pageOfField.get(child) === name ? '' : `${pageOfField.get(child)}.md`;
        return `[${child.slice(path.length + 1)}](${file}#${slugOf(child)})`;
      })
      .join(', ');
  const files = new Map([...pages].map(([name, list]) => [`${FOLDER}/${name}.md`, page(name, list, inside)]));
  files.set(`${FOLDER}/README.md`, overview(pages));
  files.set(FIELD_FACTS, `${JSON.stringify(facts, undefined, 2)}\n`);
  files.set(
    FIELD_RECORD,
    references
      .map(({ field, since }) => `${field.path} ${since}\n`)
      .sort()
      .join(''),
  );
  return files;
}

/** The page of each field, by the path of the field. */
export function pagesOfFields(recorded: string, version: string): ReadonlyMap<string, string> {
  return namesOf(paged(fieldReferences(recorded, version)));
}

function namesOf(pages: ReadonlyMap<string, readonly FieldReference[]>): ReadonlyMap<string, string> {
  return new Map([...pages].flatMap(([name, list]) => list.map(({ field }) => [field.path, name] as const)));
}

function paged(references: readonly FieldReference[]): ReadonlyMap<string, readonly FieldReference[]> {
  const sizes = Map.groupBy(references, partOf);
  return Map.groupBy(references, (one) => pageOf(one, sizes.get(partOf(one))?.length ?? 0));
}

function recordOf(recorded: string): ReadonlyMap<string, string> {
  return new Map(
    recorded.split('\n').flatMap((line) => {
      const [path, since] = line.split(' ');
      return path === undefined || since === undefined ? [] : [[path, since] as const];
    }),
  );
}

/** The first two segments of the path, such as `host.files`. */
function partOf({ field: { path } }: PlacedField): string {
  return path.split('.').slice(0, 2).join('.');
}

function pageOf(placed: PlacedField, sizeOfPart: number): string {
  const [section = ''] = placed.field.path.split('.');
  if (['apiVersion', 'kind', 'requires', 'metadata', 'apply', 'variables', 'secrets'].includes(section))
    return 'document';
  return SPLIT.includes(section) && sizeOfPart >= FIELDS_OF_A_PAGE ? partOf(placed) : section;
}

const GENERATED = '<!-- Generated by `npm run generate` from the definition of the document; do not edit. -->';

function overview(pages: ReadonlyMap<string, readonly FieldReference[]>): string {
  const count = [...pages.values()].reduce((sum, list) => sum + list.length, 0);
  return [
    '# Fields of the document',
    '',
    GENERATED,
    '',
    `The ${count} fields of a bootstrap document, version \`${DOCUMENT_VERSIONS.at(-1)?.apiVersion}\`. A path is the one that`,
    '`machineadm explain PATH` takes: it leaves out the indexes of lists and the keys of maps. A kind of sink is part of the path.',
    '',
    '| Page | Fields | Content |',
    '|---|---:|---|',
    ...[...pages].map(([name, list]) => `| [${name}](${name}.md) | ${list.length} | ${cell(contentOf(name, list))} |`),
    '',
    'Each field has these facts:',
    '',
    '| Fact | Meaning |',
    '|---|---|',
    '| Type | the type of the value. `[]string` is a list, `map[string]string` a map; a name such as `Secret` is a type of [the schema](../../../contract/schema/v1alpha1.json) |',
    '| Fields | the fields inside an object or a list of objects |',
    '| Default | the value of an absent field, or what happens without it |',
    '| Values | the allowed values and their meanings |',
    '| Changes | what the field changes on the machine. Without this line, see the field that it is in |',
    '| Platform | the operating system, where it is not both |',
    '| kubeadm | the field or flag of kubeadm, and the versions of kubeadm that have it. Without this line machineadm uses the field itself, or writes it into a file of its parent field |',
    '| Since | the first version of machineadm that reads the field |',
    '',
  ].join('\n');
}

function contentOf(name: string, list: readonly FieldReference[]): string {
  return name === 'document' ? 'Version, identity, variables and secrets.' : (list[0]?.part.description ?? '');
}

/** Links to the fields inside a field, from a page; undefined if it has none. */
type FieldsInside = (path: string, name: string) => string | undefined;

function page(name: string, list: readonly FieldReference[], inside: FieldsInside): string {
  const guide = PAGES[name];
  return [
    `# Fields: ${name}`,
    '',
    GENERATED,
    '',
    `[All fields](README.md)${guide === undefined ? '' : ` · [Guide](../../${guide}.md)`} · \`machineadm explain ${name === 'document' ? 'metadata' : name}\``,
    '',
    ...entries(list, name, inside).flatMap(({ text, twins }) =>
      twins.length === 0 ? text : [twins.map((path) => `<a id="${slugOf(path)}"></a>`).join(''), '', ...text],
    ),
  ].join('\n');
}

/** The entry of a field, and the fields that it is also for. */
interface Entry {
  readonly text: readonly string[];
  readonly twins: readonly string[];
}

/** Fields of one object that have the same facts, and the same fields in them, share an entry: that of the first. */
function entries(list: readonly FieldReference[], name: string, inside: FieldsInside): readonly Entry[] {
  const texts = new Map(list.map((one) => [one.field.path, entry(one, inside(one.field.path, name))]));
  const within = (path: string) => [...texts.keys()].filter((one) => one === path || one.startsWith(`${path}.`));
  const factsWithoutName = (path: string): string =>
    within(path)
      .flatMap((one) => texts.get(one) ?? [])
      .join('\n')
      .replaceAll(path, '')
      .replaceAll(`#${slugOf(path)}`, '#')
      .replaceAll(`\`${lastName(path)}: `, '`');
  const twins = new Map<string, string[]>();
  const families = Map.groupBy(texts.keys(), (path) => path.split('.').slice(0, -1).join('.'));
  for (const family of families.values()) {
    for (const [first = '', ...others] of Map.groupBy(family, factsWithoutName).values()) {
      for (const one of others) for (const path of within(one)) texts.delete(path);
      for (const path of within(first))
        twins.set(path, [...(twins.get(path) ?? []), ...others.map((one) => `${one}${path.slice(first.length)}`)]);
    }
  }
  return [...texts].map(([path, [heading = '', ...text]]) => {
    const same = twins.get(path) ?? [];
    const names = same.map((one) => `\`${lastName(one)}\``).join(', ');
    const isOfFamily = same.length > 0 && lastName(path) !== lastName(same[0] ?? '');
    return { twins: same, text: [heading, ...(isOfFamily ? ['', `The same holds for ${names}.`] : []), ...text] };
  });
}

function factsOf(reference: FieldReference): FieldFacts {
  const { part, since } = reference;
  const { enum: values = [], enumDescriptions = [] } = listedIn(part) ?? {};
  const meanings = values.map((value, index) => [String(value), enumDescriptions[index] ?? ''] as const);
  const platform = platformText(reference);
  const kubeadm = kubeadmFacts(reference);
  return {
    ...(meanings.some(([, meaning]) => meaning !== '') && { values: meanings }),
    ...(part.changes !== undefined && { changes: part.changes }),
    ...(platform !== undefined && { platform }),
    ...(kubeadm !== undefined && { kubeadm }),
    since,
  };
}

function entry(reference: FieldReference, inside: string | undefined): readonly string[] {
  const { field, part } = reference;
  const { changes, platform, kubeadm, since } = factsOf(reference);
  const { row, block = [] } = example(field);
  const limits = limitsOf(part);
  const rows = {
    Type: `\`${field.type.replaceAll('|', '\\|')}\`${limits === undefined ? '' : `, ${limits}`}${field.required ? ', required' : ''}`,
    Fields: inside,
    Default: part.default === undefined ? part.absent && cell(part.absent) : code(part.default),
    Values: valuesText(part),
    Changes: changes && cell(changes),
    Platform: platform && cell(platform),
    kubeadm: kubeadm && [...kubeadm.names.map((name) => `\`${name}\``), kubeadm.versions].join('<br>'),
    Example: row,
    Since: since,
  };
  return [
    `## \`${field.path}\``,
    '',
    prose(part.description ?? ''),
    '',
    '| | |',
    '|---|---|',
    ...Object.entries(rows).flatMap(([name, text]) => (text === undefined ? [] : [`| ${name} | ${text} |`])),
    '',
    ...block,
  ];
}

/** An enumeration with more values, that of the controls, links to a page of its own. */
const MOST_VALUES = 30;

function valuesText(part: ReferencePart): string | undefined {
  const { enum: values, enumDescriptions } = listedIn(part) ?? {};
  if (values === undefined) return undefined;
  if (values.length > MOST_VALUES) return 'see [the list](../../hardening-controls.md)';
  const shown = values.map((value, index) => {
    const meaning = enumDescriptions?.[index];
    return meaning === undefined || meaning === '' ? code(value) : `${code(value)}: ${cell(meaning)}`;
  });
  return shown.join('<br>');
}

/** The part with the enumeration: the field itself, the entries of a list, or an alternative. */
function listedIn(part: ReferencePart): ReferencePart | undefined {
  if (part.enum !== undefined) return part;
  const inside = [...(part.items === undefined ? [] : [part.items]), ...(part.anyOf ?? [])] as readonly ReferencePart[];
  return inside.map(listedIn).find((one) => one !== undefined);
}

function platformText({ platforms: { only, why }, isPlatformOfParent }: FieldReference): string | undefined {
  if (only === undefined) return undefined;
  const [name, other] = only === 'linux' ? ['Linux', 'Windows'] : ['Windows', 'Linux'];
  return `${name} only${isPlatformOfParent || why === undefined ? '' : ` (${other}: ${why})`}`;
}

function kubeadmFacts({ kubeadm }: FieldReference): FieldFacts['kubeadm'] {
  if (kubeadm === undefined) return undefined;
  const { names, since, until } = kubeadm;
  const isOpen = until === NEWEST_KNOWN_MINOR;
  const versions =
    since === OLDEST_MINOR && isOpen ? 'every version' : isOpen ? `1.${since} and later` : `1.${since} to 1.${until}`;
  return { names, versions };
}

/** Longer examples are blocks. */
const LONGEST_INLINE = 100;

/** The example of a field: inline in the flow style, or as a block if it is longer than a line. */
function example({ path, part }: SchemaField): { readonly row?: string; readonly block?: readonly string[] } {
  const value = part.examples?.[0];
  if (value === undefined) return {};
  const text = stringify(
    { [lastName(path)]: value },
    { collectionStyle: 'flow', lineWidth: 0, flowCollectionPadding: false },
  );
  const line = text.trim().replace(/^\{(.*)\}$/s, '$1');
  if (line.length <= LONGEST_INLINE && !line.includes('\n')) return { row: code(line) };
  return { block: ['```text', stringify({ [lastName(path)]: value }, { lineWidth: 0 }).trimEnd(), '```', ''] };
}

function code(value: unknown): string {
  return `\`${(typeof value === 'string' ? value : JSON.stringify(value)).replaceAll('|', '\\|').replaceAll('\n', '\\n')}\``;
}

function cell(text: string): string {
  return prose(text).replaceAll('|', '\\|');
}

/** Angle brackets and variables are text, not markup. */
function prose(text: string): string {
  return text.replaceAll('<', '&lt;').replaceAll('\n', ' ');
}
