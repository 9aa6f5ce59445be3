import { HOST_PARTS } from '@machineadm/document/host-parts/index.ts';
import type { HostPart } from '@machineadm/document/host-parts/part.ts';
import type { FieldText } from '@machineadm/document/sections/field.ts';

export interface FieldReference {
  /** What is said of a field below a part of the host. */
  text(path: string): FieldText | undefined;
  /** Entries that no field has asked for. */
  unused(): readonly string[];
}

/**
 * What parts of the host say of the fields in them. A key names a path, or several that say the same, separated by commas; `*`
 * is any name and `**` any number of them. A key without them counts before one with them.
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

/** The path of what a part says by its path below it; what several fields share has a name of its own. */
export function pathBelow(part: string, below: string): string {
  if (/^[A-Z*]/.test(below)) return below;
  return `host.${part}${below === '' || below.startsWith('[') ? '' : '.'}${below}`;
}

function patternOf(path: string): RegExp {
  return new RegExp(
    `^${path.replace(/[.[\]]/g, '\\$&').replace(/\*\*?/g, (stars) => (stars === '*' ? '[^.]*' : '.*'))}$`,
  );
}
