/**
 * Type of an unquoted scalar (YAML 1.2.2, 10.3 Core Schema). A number keeps its text beside its value: the value may
 * lose digits (18446744073692774399), or its type (1.0).
 */
export interface Resolved {
  readonly value: string | number | boolean | null;
  readonly number?: string;
}

const NULL = /^(?:null|Null|NULL|~|)$/;
const TRUE = /^(?:true|True|TRUE)$/;
const FALSE = /^(?:false|False|FALSE)$/;
const INTEGER = /^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const INFINITE = /^[-+]?\.(?:inf|Inf|INF)$/;
const NOT_A_NUMBER = /^\.(?:nan|NaN|NAN)$/;
/** Anything that begins with none of the above is text. */
const BEGINNING = /^[-+.0-9~nNtTfF]/;

export function resolvePlain(text: string): Resolved {
  if (text !== '' && !BEGINNING.test(text)) return { value: text };
  if (NULL.test(text)) return { value: null };
  if (TRUE.test(text)) return { value: true };
  if (FALSE.test(text)) return { value: false };
  const value = numberOf(text);
  return value === undefined ? { value: text } : { value, number: text };
}

function numberOf(text: string): number | undefined {
  if (INTEGER.test(text) || FLOAT.test(text)) return Number(text);
  if (INFINITE.test(text)) return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  return NOT_A_NUMBER.test(text) ? Number.NaN : undefined;
}

const PREFIX = 'tag:yaml.org,2002:';

/** The type for a tag, `!` for the non-specific one; undefined for a tag outside YAML's core schema. */
export function coreTag(tag: string): string | undefined {
  if (tag === '!') return tag;
  const name = tag.startsWith('!!')
    ? tag.slice(2)
    : tag.startsWith(`!<${PREFIX}`)
      ? tag.slice(2 + PREFIX.length, -1)
      : '';
  return ['str', 'int', 'float', 'bool', 'null', 'map', 'seq'].includes(name) ? name : undefined;
}

/** The value of a scalar with a tag; undefined where it is not of that type. */
export function resolveTagged(text: string, tag: string): Resolved | undefined {
  if (tag === 'str' || tag === '!') return { value: text };
  const resolved = resolvePlain(text);
  const fits =
    (tag === 'int' && INTEGER.test(text)) ||
    (tag === 'float' && resolved.number !== undefined) ||
    (tag === 'bool' && typeof resolved.value === 'boolean') ||
    (tag === 'null' && resolved.value === null);
  return fits ? resolved : undefined;
}
