import type { Sections } from './sections.ts';

/** The path of a field of the document, from its root: `host.storage.disks`. A path without a field does not compile. */
export type SectionPath = PathIn<Sections, 3>;

type Less = { 3: 2; 2: 1 };

/** The paths of at most so many names. */
type PathIn<Section, Names> = {
  [Name in keyof Section & string]: string extends Name
    ? never
    : Name | (Names extends keyof Less ? `${Name}.${PathIn<FieldsOf<Section[Name]>, Less[Names]>}` : never);
}[keyof Section & string];

type FieldsOf<Value> = Value extends readonly unknown[] | string | number | boolean | undefined ? never : Value;
