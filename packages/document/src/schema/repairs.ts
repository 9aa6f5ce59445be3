import type * as z from 'zod';
import type { PathSegment } from '../diagnostics/index.ts';
import { quoted } from '../text/quotable.ts';
import { Verbatim } from '../values/verbatim.ts';
import { accepts, holdsSecrets, isObject } from './places.ts';

/** A value that was perhaps meant. */
interface Repair {
  readonly value: unknown;
  /** What to do, where the value itself need not be printed. */
  readonly hint?: string;
  /** What to do, where the value must not be printed. */
  readonly otherwise?: string;
}

/**
 * The hint for a wrong value: the first of the values that are commonly meant by such a one and that the schema accepts. So no
 * hint leads to the next mistake.
 */
export function repairHint(
  schemas: readonly z.core.$ZodType[],
  found: unknown,
  path: readonly PathSegment[],
): string | undefined {
  if (sizeOf(found) > LARGEST_REPAIRED) return undefined;
  const field = String(path.findLast((segment) => typeof segment === 'string') ?? '');
  for (const { value, hint, otherwise } of repairsOf(schemas, found, field)) {
    if (!schemas.some((schema) => accepts(schema, value))) continue;
    const text = holdsSecrets(path) ? undefined : inFlow(value, true);
    const advice = hint ?? (text === undefined ? otherwise : `write ${text}`);
    if (advice !== undefined) return advice;
  }
  return isScalar(found) && typeof found !== 'string' ? formOf(schemas, String(found)) : undefined;
}

function repairsOf(schemas: readonly z.core.$ZodType[], found: unknown, field: string): readonly Repair[] {
  if (typeof found === 'string') {
    const truth = BOOLEAN.exec(found);
    return [
      ...(truth === null ? [] : fromBoolean(schemas, truth[1] !== undefined)),
      ...fromString(found, field),
      ...fromOnlyKey(schemas, found),
      ...fromEntry(schemas, found, field),
    ];
  }
  if (isScalar(found)) {
    const text = String(found);
    const truth = typeof found === 'boolean' ? fromBoolean(schemas, found) : [];
    return [...truth, { value: text, hint: 'write it in quotes' }, ...fromString(text, field)];
  }
  if (Array.isArray(found)) return fromList(found);
  return typeof found === 'object' && found !== null ? fromMap(found) : [];
}

/** A larger value is no slip, and a hostile document must not cost much time. */
const LARGEST_REPAIRED = 256;

function sizeOf(found: unknown): number {
  if (typeof found === 'string') return found.length;
  if (found instanceof Verbatim) return found.text.length;
  return typeof found === 'object' && found !== null ? Object.keys(found).length : 1;
}

function isScalar(found: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof found) || found instanceof Verbatim;
}

/** Texts that other tools read as true, which the group matches, or as false. */
const BOOLEAN = /^(?:(yes|on|true)|no|off|false)$/i;
const UNITS = /^(\d+) ?(s|m|h|sec|min|second|minute|hour)s?$/i;
/** `key=value:NoSchedule` and `key:NoSchedule`, as kubectl writes a taint. */
const TAINT = /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/;

function fromString(text: string, field: string): readonly Repair[] {
  if (text === '') return [];
  const bare = text.trim().replace(/^[a-z][a-z\d+.-]{0,15}:\/\//i, '');
  const host = bare.endsWith('/') ? bare.slice(0, -1) : bare;
  const [, count, unit = ''] = UNITS.exec(text.trim()) ?? [];
  const [, key, value, effect] = TAINT.exec(text) ?? [];
  const words = text.split(/[\s,]+/).filter((word) => word !== '');
  return [
    ...(BOOLEAN.test(text) ? [{ value: true, hint: 'write true or false, without quotes' }] : []),
    ...(/^-?\d{1,15}$/.test(text) ? [{ value: Number(text), hint: 'write it without quotes' }] : []),
    ...(/^\d+$/.test(text) ? [{ value: `${text}s` }] : []),
    ...(count === undefined ? [] : [{ value: `${count}${unit.slice(0, 1).toLowerCase()}` }]),
    ...(key === undefined ? [] : [{ value: { key, ...(value === undefined ? {} : { value }), effect } }]),
    { value: text.trim() },
    { value: host },
    ...(/endpoint$/i.test(field) ? [{ value: `${host}:6443` }] : []),
    ...(/^\d+\.\d+\.\d+/.test(text) ? [{ value: `v${text}` }] : []),
    ...(/^[\da-f]{64}$/i.test(text) ? [{ value: `sha256:${text}`, hint: 'write "sha256:" before it' }] : []),
    ...(/^[0-7]{3}$/.test(text) ? [{ value: `0${text}` }] : []),
    ...(text.includes('/') ? [{ value: `/${text}` }] : []),
    ...(/name$/i.test(field) ? [{ value: text.toLowerCase().replace(/[\s_]+/g, '-') }] : []),
    { value: words, otherwise: 'make it a list: [VALUE]' },
    ...(/^(?:labels|annotations)$/.test(field) ? [{ value: pairs(words) }] : []),
  ];
}

/** `write {path: "/dev/sdb"}` for a text where a map is expected that would be right with only that text. */
function fromOnlyKey(schemas: readonly z.core.$ZodType[], found: string): readonly Repair[] {
  return schemas.filter(isObject).flatMap((item) => {
    const [key] = Object.keys(item._zod.def.shape);
    return key === undefined ? [] : [{ value: { [key]: found } }];
  });
}

/** A text where a list of maps is expected: the list of the one map that it means. */
function fromEntry(schemas: readonly z.core.$ZodType[], found: string, field: string): readonly Repair[] {
  return schemas.flatMap(({ _zod: { def } }) => {
    if (def.type !== 'array') return [];
    const { element } = def as z.core.$ZodArrayDef;
    return repairsOf([element], found, field).map(({ value }) => ({ value: [value] }));
  });
}

/** Other tools write true and false where this document has words or, as the kernel does, 1 and 0. */
function fromBoolean(schemas: readonly z.core.$ZodType[], found: boolean): readonly Repair[] {
  const words = schemas.flatMap((schema) => [...(schema._zod.values ?? [])].map(String));
  const meaning = found ? /^(?:Enabled|Always|Required)$/ : /^(?:Disabled|Never|None)$/;
  const meant = words.filter((word) => meaning.test(word));
  const number = schemas.length > 1 ? [{ value: found ? 1 : 0 }] : [];
  return [...meant.map((value) => ({ value, hint: `write ${value}` })), ...number];
}

function fromList(found: readonly unknown[]): readonly Repair[] {
  const [only] = found;
  const texts = found.filter((item) => typeof item === 'string');
  return [
    ...(found.length === 1 ? [{ value: only, hint: 'write its only entry, without the list' }] : []),
    ...(texts.length > 0 && texts.length === found.length && texts.every((text) => text.includes('='))
      ? [{ value: pairs(texts), hint: 'write a map: {KEY: VALUE}' }]
      : []),
  ];
}

function fromMap(found: object): readonly Repair[] {
  return [
    { value: [found], hint: 'make it an entry of a list: begin its first line with "- "' },
    {
      value: Object.entries(found).map(([name, value]: [string, unknown]) => ({ name, value: String(value) })),
      hint: 'write a list: [{name: NAME, value: VALUE}]',
    },
  ];
}

/** The map of `key=value` texts. */
function pairs(texts: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map((text) => {
      const [key = '', ...value] = text.split('=');
      return [key, value.join('=')];
    }),
  );
}

/** What a text would have to be, for a number that would not even be right in quotes: `write an exact version, such as …`. */
function formOf(schemas: readonly z.core.$ZodType[], text: string): string | undefined {
  for (const schema of schemas) {
    if (schema._zod.def.type !== 'string') continue;
    const message = (schema as z.ZodType).safeParse(text).error?.issues[0]?.message ?? '';
    if (!/^not an? /.test(message)) continue;
    const [form = '', how] = message.slice('not '.length).split(': write ');
    return `write ${how ?? form}`;
  }
  return undefined;
}

const LONGEST_SHOWN = 80;
/** Keys of maps whose values are not printed, whatever the field. */
const PASSWORDS = /secret|passw|token|credential|api.?key/i;

/** A value in YAML's flow style; undefined where it is long or a part of it may be a secret. */
function inFlow(value: unknown, isWhole = false): string | undefined {
  const text = flowOf(value, isWhole);
  return text === undefined || text.length > LONGEST_SHOWN ? undefined : text;
}

function flowOf(value: unknown, isWhole: boolean): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') {
    const isPlain =
      !isWhole && /^[A-Za-z][\w-]*$/.test(value) && !/^(?:y|n|yes|no|on|off|true|false|null)$/i.test(value);
    return quoted(value) === undefined ? undefined : isPlain ? value : quoted(value);
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const parts = Object.entries(value).map(([key, item]: [string, unknown]) => {
    const text = flowOf(item, false);
    if (text === undefined || Array.isArray(value)) return text;
    return quoted(key) === undefined || PASSWORDS.test(key) ? undefined : `${key}: ${text}`;
  });
  if (parts.length === 0 || parts.includes(undefined)) return undefined;
  return Array.isArray(value) ? `[${parts.join(', ')}]` : `{${parts.join(', ')}}`;
}
