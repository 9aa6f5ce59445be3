import type * as z from 'zod';

/** The result of checking a JSON text against a schema. */
export type Checked<Value> =
  | { readonly ok: true; readonly value: Value }
  /** `issue`: the first problem; absent where the text is not JSON. */
  | { readonly ok: false; readonly issue: { readonly path: string; readonly message: string } | undefined };

/** Never throws. zod compares the value under a key `length`, which fails for an object with a key `toString`. */
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
