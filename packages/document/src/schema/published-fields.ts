import { choices, nearestName } from '../diagnostics/index.ts';

/** A part of a JSON Schema, as `contract/schema` publishes it. */
export interface SchemaPart {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, SchemaPart>>;
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, SchemaPart>>;
  readonly required?: readonly string[];
  readonly items?: SchemaPart;
  readonly additionalProperties?: boolean | SchemaPart;
  readonly anyOf?: readonly SchemaPart[];
}

export interface SchemaField {
  /** `kubernetes.join`; '' for the document. */
  readonly path: string;
  /** Includes the text of a shared type where the field has none of its own. */
  readonly part: SchemaPart;
  /** `string`, `[]File`, `map[string]Secret`, `integer | string`. */
  readonly type: string;
  readonly required: boolean;
}

/** An unknown name, with a suggestion. */
export interface UnknownField {
  /** The part that exists: `kubernetes`. */
  readonly below: string;
  readonly name: string;
  readonly hint: string;
}

/** The fields of a document by their paths in its JSON Schema. */
export class SchemaFields {
  readonly #root: SchemaPart;

  constructor(root: SchemaPart) {
    this.#root = root;
  }

  /**
   * Finds a field by its path, such as `host.files.content`. List indices and brackets may be omitted; a map's name is
   * followed by a key, or directly by a field of its values; a variant's by its name (`reporting.sinks.Webhook`).
   */
  find(path: string): SchemaField | UnknownField {
    const names = path
      .replaceAll(/\[\d*\]/g, '')
      .split('.')
      .filter((name) => name !== '' && !/^\d+$/.test(name));
    let field: SchemaField = { path: '', part: this.#root, type: this.#typeOf(this.#root), required: true };
    for (const name of names) {
      const next = this.#below(field, name);
      if (next === undefined) {
        const known = [...this.fieldsOf(field), ...this.kindsOf(field)].map((one) => lastName(one.path));
        const near = nearestName(name, known);
        const hint =
          near !== undefined ? `did you mean "${near}"?` : `known here: ${choices(known, name) || 'nothing'}`;
        return { below: field.path, name, hint };
      }
      field = next;
    }
    return field;
  }

  /** The fields below one; for a list or a map those of its entries. For variants see `kindsOf`. */
  fieldsOf(field: SchemaField): readonly SchemaField[] {
    const fields = new Map<string, SchemaField>();
    const objects = this.#objectsOf(field.part);
    for (const { part, kind } of objects) {
      if (kind !== undefined) continue;
      for (const [name, child] of Object.entries(part.properties ?? {})) {
        // A field that is required in one variant may be absent in the others.
        const required = objects.length === 1 && part.required?.includes(name) === true;
        if (!fields.has(name)) fields.set(name, this.#field(join(field.path, name), child, required));
      }
    }
    return [...fields.values()];
  }

  /** The variants of an entry, by the value of their `type`: the sinks. */
  kindsOf(field: SchemaField): readonly SchemaField[] {
    return this.#objectsOf(field.part).flatMap(({ part, kind }) =>
      kind === undefined ? [] : [this.#field(join(field.path, kind), part, false)],
    );
  }

  #below(field: SchemaField, name: string): SchemaField | undefined {
    const own = [...this.fieldsOf(field), ...this.kindsOf(field)].find((one) => lastName(one.path) === name);
    if (own !== undefined) return own;
    const values = this.#valuesOf(field.part);
    return values !== undefined ? this.#field(join(field.path, name), values, false) : undefined;
  }

  /** The names of the values of a map. */
  #valuesOf(part: SchemaPart): SchemaPart | undefined {
    const { additionalProperties, items, anyOf = [] } = this.#resolved(part);
    if (typeof additionalProperties === 'object') return additionalProperties;
    if (items !== undefined) return this.#valuesOf(items);
    return anyOf.map((one) => this.#valuesOf(one)).find((values) => values !== undefined);
  }

  #field(path: string, part: SchemaPart, required: boolean): SchemaField {
    return { path, part: this.#resolved(part), type: this.#typeOf(part), required };
  }

  /** The objects at a place: for a list its items, for a map its values. */
  #objectsOf(part: SchemaPart, isChoice = false, within: readonly string[] = []): readonly SchemaObject[] {
    const { $ref } = part;
    // A table of TOML contains tables.
    if ($ref !== undefined && within.includes($ref)) return [];
    const inside = $ref === undefined ? within : [...within, $ref];
    const resolved = this.#resolved(part);
    const { properties, items, additionalProperties, anyOf = [] } = resolved;
    if (properties !== undefined) {
      const kind = properties.type?.const;
      return [isChoice && typeof kind === 'string' ? { part: resolved, kind } : { part: resolved }];
    }
    if (items !== undefined) return this.#objectsOf(items, false, inside);
    if (typeof additionalProperties === 'object') return this.#objectsOf(additionalProperties, false, inside);
    return anyOf.flatMap((one) => this.#objectsOf(one, true, inside));
  }

  #resolved(part: SchemaPart): SchemaPart {
    if (part.$ref === undefined) return part;
    const { $ref, ...own } = part;
    return { ...this.#resolved(this.#root.$defs?.[nameOf($ref)] ?? {}), ...own };
  }

  #typeOf(part: SchemaPart): string {
    if (part.$ref !== undefined && nameOf(part.$ref) !== VARIABLE_TEXT) return nameOf(part.$ref);
    const resolved = this.#resolved(part);
    if (resolved.anyOf !== undefined) {
      const types = new Set(resolved.anyOf.filter((one) => !isVariableText(one)).map((one) => this.#typeOf(one)));
      return types.size > MOST_TYPES ? 'object' : [...types].join(' | ');
    }
    if (resolved.items !== undefined) return `[]${grouped(this.#typeOf(resolved.items))}`;
    if (typeof resolved.additionalProperties === 'object') {
      return `map[string]${grouped(this.#typeOf(resolved.additionalProperties))}`;
    }
    return resolved.type ?? (resolved.const === undefined ? 'any' : typeof resolved.const);
  }
}

export function isUnknownField(found: SchemaField | UnknownField): found is UnknownField {
  return 'hint' in found;
}

/** Further ones are reported individually, below. */
const MOST_TYPES = 4;

/** An object at a place; `kind`: the name of a variant. */
interface SchemaObject {
  readonly part: SchemaPart;
  readonly kind?: string;
}

/** Every text may contain a variable, which is not another type. */
const VARIABLE_TEXT = 'VariableText';

function isVariableText({ $ref }: SchemaPart): boolean {
  return $ref !== undefined && nameOf($ref) === VARIABLE_TEXT;
}

function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

function grouped(type: string): string {
  return type.includes(' | ') ? `(${type})` : type;
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

export function lastName(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

/** `1 to 65535`; undefined: any number, or no number. */
export function limitsOf({ minimum, maximum }: SchemaPart): string | undefined {
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`;
  if (minimum !== undefined) return `at least ${minimum}`;
  return maximum === undefined ? undefined : `at most ${maximum}`;
}
