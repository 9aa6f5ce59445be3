/** Drops the index signature that `looseObject` adds, at every depth, so that a missing field shows. */
type Known<T> = T extends readonly (infer Item)[]
  ? readonly Known<Item>[]
  : T extends object
    ? { readonly [Key in keyof T as string extends Key ? never : Key]: Known<T[Key]> }
    : T;

/** The same type with any string as a reason. */
type Open<T> = T extends { readonly failure?: infer Failure }
  ? Omit<T, 'failure'> & { readonly failure?: Omit<NonNullable<Failure>, 'reason'> & { readonly reason: string } }
  : T;

type FieldsOf<T> = T extends readonly (infer Item)[]
  ? FieldsOf<Item>
  : T extends object
    ? { [Key in keyof T]-?: [FieldsOf<NonNullable<T[Key]>>, undefined extends T[Key] ? 'optional' : 'required'] }
    : T;

/** Whether a schema and a type have the same fields, and require the same ones. */
export type SameFields<Schema, Type> = Equal<FieldsOf<Known<Schema>>, FieldsOf<Open<Type>>>;

type Equal<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
