import { define } from '../../fields/field.ts';
import { verbatimNumber } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';
import type { Verbatim } from '../../values/verbatim.ts';

export interface TomlSection {
  [key: string]: TomlSection | TomlScalar | (TomlScalar | TomlSection)[];
}

type TomlScalar = string | number | boolean | Verbatim;

const tomlScalar = z.union([z.string(), verbatimNumber, z.boolean()]);

/** A table of TOML, as a document writes it. */
export const tomlTable: z.ZodType<TomlSection> = define(
  'TomlTable',
  z.lazy(() =>
    z.record(
      z.string(),
      z.union([tomlScalar, z.array(z.union([tomlScalar, tomlTable])), tomlTable], {
        error: 'expected a value that TOML has: a string, number, boolean, list or table',
      }),
    ),
  ),
  'A table of TOML. Its values are strings, numbers, booleans, lists and tables.',
  { debug: { level: 'info' } },
);

export type TomlValue = string | number | boolean | Verbatim | readonly TomlValue[] | TomlTable;
export interface TomlTable {
  readonly [key: string]: TomlValue;
}
