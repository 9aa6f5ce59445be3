import type * as z from 'zod';
import type { PathSegment } from '../diagnostics/index.ts';
import { valueAt } from './valid-part.ts';

export function segmentsOf(issue: z.core.$ZodIssue): PathSegment[] {
  return issue.path.filter((segment) => typeof segment !== 'symbol');
}

export function accepts(schema: z.core.$ZodType, value: unknown): boolean {
  return (schema as z.ZodType).safeParse(value).success;
}

/** The paths of the fields of a document that have this name. */
export type FieldSearch = (name: string) => readonly string[];

/** The deepest field that is found by its name: `host.storage.mounts`. */
const DEEPEST_FIELD = 3;

/**
 * Finds the uppermost fields of a name in the sections of a document: `files` is `host.files`. Fields of list entries and maps
 * are not found, nor outside of `host` those that have no fields themselves: their names, such as `version`, say too little.
 */
export function searchFields(sections: Readonly<Record<string, { readonly schema: z.ZodType }>>): FieldSearch {
  return (name) => {
    const found = new Map<string, number>();
    const visit = (schema: z.core.$ZodType, path: string, depth: number): void => {
      for (const item of unwrap(schema).filter(isObject))
        for (const [key, field] of Object.entries(item._zod.def.shape)) {
          if (key === name && (path.startsWith('host') || unwrap(field).some(isObject)))
            found.set(`${path}.${key}`, depth);
          else if (depth < DEEPEST_FIELD) visit(field, `${path}.${key}`, depth + 1);
        }
    };
    for (const [section, { schema }] of Object.entries(sections)) {
      if (section === name) found.set(section, 1);
      else visit(schema, section, 2);
    }
    const uppermost = Math.min(...found.values());
    const fields = [...found].flatMap(([path, depth]) => (depth === uppermost ? [path] : []));
    return fields.length > 2 ? [] : fields;
  };
}

/** The schemas that a value at a path can have; several below a union. */
export function schemasAt(schema: z.ZodType, path: readonly PathSegment[]): z.core.$ZodType[] {
  let current: z.core.$ZodType[] = unwrap(schema);
  for (const segment of path) current = current.flatMap((item) => childOf(item, segment)).flatMap(unwrap);
  return current;
}

/** The keys that a schema has at a path inside it: of several objects, those that the discriminators of `found` select. */
export function keysAt(schema: z.ZodType, path: readonly PathSegment[], found?: unknown): string[] {
  const objects = schemasAt(schema, path).filter(isObject);
  const selected = objects.filter((item) => hasDiscriminatorsOf(item, found));
  return [...new Set((selected.length > 0 ? selected : objects).flatMap((item) => Object.keys(item._zod.def.shape)))];
}

function hasDiscriminatorsOf(schema: z.core.$ZodObject, found: unknown): boolean {
  return Object.entries(schema._zod.def.shape).every(([key, { _zod }]) => {
    const given = valueAt(found, [key]);
    return _zod.def.type !== 'literal' || given === undefined || _zod.values?.has(given as string) === true;
  });
}

function childOf(schema: z.core.$ZodType, segment: PathSegment): z.core.$ZodType[] {
  if (isObject(schema)) {
    const { shape } = schema._zod.def;
    const child = Object.hasOwn(shape, segment) ? shape[String(segment)] : undefined;
    return child === undefined ? [] : [child];
  }
  const { def } = schema._zod;
  if (def.type === 'array') return [(def as z.core.$ZodArrayDef).element];
  if (def.type === 'record') return [(def as z.core.$ZodRecordDef).valueType];
  return [];
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType[] {
  const { def } = schema._zod;
  if (def.type === 'optional') return unwrap((def as z.core.$ZodOptionalDef).innerType);
  if (def.type === 'union') return (def as z.core.$ZodUnionDef).options.flatMap(unwrap);
  return [schema];
}

export function isObject(schema: z.core.$ZodType): schema is z.core.$ZodObject {
  return schema._zod.def.type === 'object';
}

/** Whether the field could hold a secret, whatever its value looks like. */
export function holdsSecrets(path: readonly PathSegment[]): boolean {
  const field = path.findLast((segment) => typeof segment === 'string') ?? '';
  return path[0] === 'secrets' || path[0] === 'variables' || SECRET_FIELDS.test(field);
}

const SECRET_FIELDS = /secret|password|token|credential|command|content|header|^value$|key$|blob|^env$|^pem$/i;
