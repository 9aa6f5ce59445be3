import * as z from 'zod';

export interface TomlSection {
  [key: string]: TomlSection | string | number | boolean | (string | number | boolean | TomlSection)[];
}

const tomlScalar = z.union([z.string(), z.number(), z.boolean()]);

/** A table of TOML, as a document writes it. */
export const tomlTable: z.ZodType<TomlSection> = z.lazy(() =>
  z.record(
    z.string(),
    z.union([tomlScalar, z.array(z.union([tomlScalar, tomlTable])), tomlTable], {
      error: 'expected a value that TOML has: a string, number, boolean, list or table',
    }),
  ),
);
