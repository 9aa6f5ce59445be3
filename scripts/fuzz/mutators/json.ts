import { withChecksum, withoutChecksum } from '../../../src/host/files/checksum.ts';
import type { Random } from '../random.ts';
import type { Mutation } from '../target.ts';

/** Edge cases that a parser may not expect. */
const VALUES: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1, 1.5, 2 ** 31, 2 ** 53, 1e21, -0, '', ' ', 'a', '0', '-1', 'null', 'true'],
  ...['constructor', '__proto__', 'toString', '\u0000', '\ud800', '\n', '${v}', '../..', '/', '*', '::1', '10.0.0.0/8'],
  ...['2026-01-01T00:00:00Z', 'v1.35.0', 'x'.repeat(300), [], {}, [[]], [null], [''], { a: null }, ['a', 'a']],
];

const KEYS = ['', 'a', 'name', 'kind', '__proto__', 'constructor', 'toString', 'hasOwnProperty', '0', 'length'];

type Container = unknown[] | Record<string, unknown>;

/** Changes one place of a JSON value in place. */
export function changedValue(random: Random, value: unknown): unknown {
  const slots: [Container, string | number][] = [];
  const root = { value };
  collect(root, slots);
  const [owner, key] = random.pick(slots);
  const present: unknown = Reflect.get(owner, key);
  const donor = random.pick(slots);
  const set = (to: unknown) => Reflect.set(owner, key, to);
  switch (random.below(8)) {
    case 0:
      Reflect.deleteProperty(owner, key);
      break;
    case 1:
      set(structuredClone(Reflect.get(...donor)));
      break;
    case 2:
      set([present]);
      break;
    case 3:
      set({ [random.pick(KEYS)]: present });
      break;
    case 4:
      if (Array.isArray(present)) present.push(structuredClone(Reflect.get(...donor)));
      else if (isRecord(present)) define(present, random.pick(KEYS), random.pick(VALUES));
      else set(random.pick(VALUES));
      break;
    case 5:
      if (Array.isArray(present) && present.length > 0) present.push(structuredClone(random.pick(present)));
      else if (typeof present === 'number') set(present + random.below(3) - 1);
      else if (typeof present === 'string') set(present.slice(random.below(present.length + 1)));
      else set(random.pick(VALUES));
      break;
    default:
      set(random.pick(VALUES));
  }
  return root.value;
}

/** Changes one place of a JSON text. */
export const json: Mutation = (random, input) => {
  const value = parsed(input);
  if (value === undefined) return undefined;
  const changed = changedValue(random, value.value);
  return JSON.stringify(changed, undefined, input.includes('\n ') ? 2 : undefined);
};

/** The same for one line of JSON lines. */
export const jsonLine: Mutation = (random, input) => onOneLine(random, input, json);

/** The same for a JSON text with a checksum, which is recomputed. */
export const checksummedJson: Mutation = (random, input) => checksummed(random, input);
export const checksummedJsonLine: Mutation = (random, input) => onOneLine(random, input, checksummed);

const checksummed: Mutation = (random, input) => {
  const changed = json(random, (withoutChecksum(input) ?? input).trimEnd());
  return changed === undefined ? undefined : withChecksum(changed) + (input.endsWith('\n') ? '\n' : '');
};

function onOneLine(random: Random, input: string, mutation: Mutation): string | undefined {
  const lines = input.split('\n');
  const at = random.below(lines.length);
  const changed = mutation(random, lines[at] ?? '');
  if (changed === undefined) return undefined;
  lines[at] = changed;
  return lines.join('\n');
}

function collect(node: Container, slots: [Container, string | number][]): void {
  for (const [key, value] of Object.entries(node)) {
    slots.push([node, Array.isArray(node) ? Number(key) : key]);
    if (Array.isArray(value) || isRecord(value)) collect(value, slots);
  }
}

function define(record: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true });
}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
