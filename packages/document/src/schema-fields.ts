import { choices, nearestName } from './diagnostics.ts';

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

/** A field of the document. */
export interface SchemaField {
  /** `kubernetes.join`; '' for the document. */
  readonly path: string;
  /** With what a type that several fields share says, where the field says nothing of its own. */
  readonly part: SchemaPart;
  /** `string`, `[]File`, `map[string]Secret`, `integer | string`. */
  readonly type: string;
  readonly required: boolean;
}

/** A name that the schema does not have at that place, with what may have been meant. */
export interface UnknownField {
  /** Of what was found: `kubernetes`. */
  readonly below: string;
  readonly name: string;
  readonly hint: string;
}

/** The fields of a document, found by their paths in its JSON Schema. */
export class SchemaFields {
  readonly #root: SchemaPart;

  constructor(root: SchemaPart) {
    this.#root = root;
  }

  /**
   * Finds a field by its path, such as `host.files.content`. Numbers and brackets of lists may be left out; behind a map
   * comes a key of it, or a field of its values at once; behind one of several kinds its name (`reporting.sinks.Webhook`).
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

  /** The fields below one; of a list or a map those of its entries. Where there are several kinds, `kindsOf` has theirs. */
  fieldsOf(field: SchemaField): readonly SchemaField[] {
    const fields = new Map<string, SchemaField>();
    const objects = this.#objectsOf(field.part);
    for (const { part, kind } of objects) {
      if (kind !== undefined) continue;
      for (const [name, child] of Object.entries(part.properties ?? {})) {
        // What one of several objects needs, the others may not have.
        const required = objects.length === 1 && part.required?.includes(name) === true;
        if (!fields.has(name)) fields.set(name, this.#field(join(field.path, name), child, required));
      }
    }
    return [...fields.values()];
  }

  /** The kinds of which an entry is one, by the word of their `type`: the sinks. */
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

  /** What the keys of a map lead to. */
  #valuesOf(part: SchemaPart): SchemaPart | undefined {
    const { additionalProperties, items, anyOf = [] } = this.#resolved(part);
    if (typeof additionalProperties === 'object') return additionalProperties;
    if (items !== undefined) return this.#valuesOf(items);
    return anyOf.map((one) => this.#valuesOf(one)).find((values) => values !== undefined);
  }

  #field(path: string, part: SchemaPart, required: boolean): SchemaField {
    return { path, part: this.#resolved(part), type: this.#typeOf(part), required };
  }

  /** The objects that may stand in a place: of a list its items, of a map its values. */
  #objectsOf(part: SchemaPart, isChoice = false, within: readonly string[] = []): readonly SchemaObject[] {
    const { $ref } = part;
    // A table of TOML holds tables.
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

/** More are told one by one, below. */
const MOST_TYPES = 4;

/** An object that may stand in a place; `kind`: one of several that their `type` tells apart. */
interface SchemaObject {
  readonly part: SchemaPart;
  readonly kind?: string;
}

/** Every text may hold a variable: it is no other type of its own. */
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

/** The name of a field without what leads to it. */
export function lastName(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}
