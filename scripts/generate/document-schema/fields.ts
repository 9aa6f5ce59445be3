import type { FieldText } from '@machineadm/document/fields/field.ts';
import { HOST_PARTS } from '@machineadm/document/host-parts/index.ts';
import type { HostPart } from '@machineadm/document/host-parts/part.ts';

export interface FieldReference {
  /** The documentation of a field below a part of the host. */
  text(path: string): FieldText | undefined;
  /** Entries that match no field so far. */
  unused(): readonly string[];
}

/**
 * The documentation of the fields in the parts of the host. A key is a path, or several paths separated by commas. `*`
 * matches one name and `**` any number of names. A key without wildcards has precedence.
 */
export function fieldReference(): FieldReference {
  const fields = Object.entries<HostPart>(HOST_PARTS).flatMap(([name, part]) =>
    Object.entries(part.fields ?? {}).flatMap(([key, field]) =>
      key.split(', ').map((below) => {
        const path = pathBelow(name, below);
        return { path, field, pattern: patternOf(path) };
      }),
    ),
  );
  const used = new Set<string>();
  const exact = new Map(fields.map((field) => [field.path, field]));
  return {
    text(path) {
      const found = exact.get(path) ?? fields.find(({ pattern }) => pattern.test(path));
      if (found !== undefined) used.add(found.path);
      return found?.field;
    },
    unused: () => fields.map(({ path }) => path).filter((path) => !used.has(path)),
  };
}

/** The path of a field by its path below a part. A shared definition or a wildcard is not below the part. */
export function pathBelow(part: string, below: string): string {
  if (/^[A-Z*]/.test(below)) return below;
  return `host.${part}${below === '' || below.startsWith('[') ? '' : '.'}${below}`;
}

function patternOf(path: string): RegExp {
  return new RegExp(
    `^${path.replace(/[.[\]]/g, '\\$&').replace(/\*\*?/g, (stars) => (stars === '*' ? '[^.]*' : '.*'))}$`,
  );
}
