import type * as z from 'zod';

/** What a JSON text of others comes to by a schema. */
export type Checked<Value> =
  | { readonly ok: true; readonly value: Value }
  /** `issue`: the first thing that is wrong; none where it is not JSON at all. */
  | { readonly ok: false; readonly issue: { readonly path: string; readonly message: string } | undefined };

/** Never throws: zod compares whatever lies under a key `length`, which a value with a key `toString` does not stand. */
export function checkedJson<Value>(schema: z.ZodType<Value>, text: string | undefined): Checked<Value> {
  let parsed: z.ZodSafeParseResult<Value>;
  try {
    parsed = schema.safeParse(JSON.parse(text ?? ''));
  } catch {
    return { ok: false, issue: undefined };
  }
  if (parsed.success) return { ok: true, value: parsed.data };
  const [issue] = parsed.error.issues;
  return { ok: false, issue: { path: issue?.path.join('.') ?? '', message: issue?.message ?? '' } };
}
