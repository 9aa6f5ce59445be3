import type * as z from 'zod';
import type { Finding, PathSegment } from '../diagnostics/index.ts';
import type { ResolveSecret } from '../fields/convert-values.ts';
import type { FieldText } from '../fields/field.ts';
import type { Platform } from '../fields/platform.ts';
import type { Claim } from '../ownership/claim.ts';
import type { DocumentName } from '../ownership/drop-ins.ts';
import type { SecretsSection } from '../sections/secrets.ts';
import type { AbsentModel, AbsentNameModel } from './paths-of-host.ts';

/** What else of a document a part may be checked against. */
export interface Beside {
  readonly secrets?: SecretsSection | undefined;
  readonly host?: { readonly hostname?: string | undefined } | undefined;
}

/**
 * A field of `host` with all that is known of it, in one module: its form, its words, what it becomes, which paths it makes
 * ours, and what else is wrong with it. `index.ts` lists them; everything else is made from that list.
 */
export interface HostPart<Schema extends z.ZodType = z.ZodType, PartModel = unknown> extends FieldText {
  readonly schema: Schema;
  /** Why Windows has nothing of it; absent: it has. */
  readonly linuxOnly?: string;
  /** What identifies the entries of a list, so that sources merge it by entry: by the path below the part. */
  readonly entryKeys?: Readonly<Record<string, readonly string[]>>;
  /** What steps work with; gets undefined where the document does not have the part. */
  toModel(
    section: z.infer<Schema> | undefined,
    resolve: ResolveSecret,
    platform: Platform,
  ): PartModel | Promise<PartModel>;
  /** Paths that it wants away. */
  removes?(section: z.infer<Schema>): readonly AbsentModel[];
  /** Users, groups, services and mounts that it wants away. */
  removesNames?(section: z.infer<Schema>): readonly AbsentNameModel[];
  /** What a step manages because of it, as far as the document alone decides it; fields are paths below the part. */
  claims?(model: PartModel, document: DocumentName): readonly Claim[];
  /** Mistakes that no single field shows, with their paths below the part; `about` is a path below `host`. */
  check?(section: z.infer<Schema>, beside: Beside): readonly Finding[] | Promise<readonly Finding[]>;
}

/** Infers the types of a part. */
export function hostPart<Schema extends z.ZodType, PartModel>(
  part: HostPart<Schema, PartModel>,
): HostPart<Schema, PartModel> {
  return part;
}

/** A claim of each of these paths. */
export function claimsOn(
  step: Claim['step'],
  field: readonly PathSegment[],
  kind: Claim['kind'],
  ...paths: readonly string[]
): Claim[] {
  return paths.map((path) => ({ step, field, kind, path }));
}

/** Entries of a list that have the name of an earlier one. */
export function doubles(list: readonly { readonly name: string }[]): Finding[] {
  return repeats(list, 'name', 'is already');
}

/** The same of their paths. `already` says what the earlier one does with it. */
export function doublePaths(list: readonly { readonly path: string }[], already: string): Finding[] {
  return repeats(list, 'path', already);
}

/** The same of the field `key`. */
export function repeats<Key extends string>(
  list: readonly Readonly<Record<Key, string>>[],
  key: Key,
  already: string,
): Finding[] {
  const first = new Map<string, number>();
  return list.flatMap((entry, index): Finding[] => {
    const value = entry[key];
    const earlier = first.get(value);
    if (earlier === undefined) {
      first.set(value, index);
      return [];
    }
    const message = `${value} ${already}`;
    return [{ code: 'Duplicate', path: [index, key], message, other: [earlier], hint: 'keep one of them' }];
  });
}
