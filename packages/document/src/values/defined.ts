/** An object whose members that may be undefined are absent instead. */
export type Defined<Value extends object> = {
  readonly [Name in keyof Value as undefined extends Value[Name] ? never : Name]: Value[Name];
} & {
  readonly [Name in keyof Value as undefined extends Value[Name] ? Name : never]?: Exclude<Value[Name], undefined>;
};

/** The object without its members that are undefined. */
export function omitUndefined<Value extends object>(value: Value): Defined<Value> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Defined<Value>;
}

/** The same; undefined if no member is left. */
export function omitEmpty<Value extends object>(value: Value): Defined<Value> | undefined {
  const defined = omitUndefined(value);
  return Object.keys(defined).length === 0 ? undefined : defined;
}
