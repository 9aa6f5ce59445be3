import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HOST_PARTS } from '@machineadm/document/host-parts/index.ts';
import type { FieldText, HostPart } from '@machineadm/document/host-parts/part.ts';
import { parse } from 'yaml';
import type { JsonSchema } from './convert.ts';

export interface FieldReference {
  /** The keywords of a field: description, default and examples. Empty for a field that is not described. */
  annotations(path: string): JsonSchema;
  /** Entries that no field has asked for. */
  unused(): readonly string[];
  has(path: string): FieldText | undefined;
}

const FOLDER = join(import.meta.dirname, 'fields');

/**
 * The reference of all fields: what parts of the host say of theirs, and `fields/*.yaml` for the rest. A key names a path, or several that say the same, separated by commas; `*` is any name
 * and `**` any number of them. A key without them counts before one with them.
 */
export function fieldReference(): FieldReference {
  const fields = globSync('*.yaml', { cwd: FOLDER })
    .sort()
    .flatMap((file) => Object.entries(parse(readFileSync(join(FOLDER, file), 'utf8')) as Record<string, FieldText>))
    .concat(fieldsOfParts())
    .flatMap(([key, field]) => key.split(', ').map((path) => ({ path, field, pattern: patternOf(path) })));
  const used = new Set<string>();
  const exact = new Map(fields.map((field) => [field.path, field]));
  const find = (path: string) => exact.get(path) ?? fields.find(({ pattern }) => pattern.test(path));
  return {
    has: (path) => find(path)?.field,
    annotations(path) {
      const found = find(path);
      if (found === undefined) return {};
      used.add(found.path);
      const { description, absent, example } = found.field;
      return {
        description: absent === undefined ? description : `${description} Default: ${absent}.`,
        ...('default' in found.field ? { default: found.field.default } : {}),
        ...(example === undefined ? {} : { examples: [example] }),
      };
    },
    unused: () => fields.map(({ path }) => path).filter((path) => !used.has(path)),
  };
}

function fieldsOfParts(): [string, FieldText][] {
  return Object.entries<HostPart>(HOST_PARTS).flatMap(([name, part]) => [
    [`host.${name}`, part],
    ...Object.entries(part.fields ?? {}).map(([paths, field]): [string, FieldText] => [
      paths
        .split(', ')
        .map((path) => (/^\*?[A-Z]/.test(path) ? path : `host.${name}${path.startsWith('[') ? '' : '.'}${path}`))
        .join(', '),
      field,
    ]),
  ]);
}

function patternOf(path: string): RegExp {
  return new RegExp(
    `^${path.replace(/[.[\]]/g, '\\$&').replace(/\*\*?/g, (stars) => (stars === '*' ? '[^.]*' : '.*'))}$`,
  );
}
