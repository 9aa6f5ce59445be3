import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { SecretObject } from '../cluster/objects.ts';
import { KEPT_REASONS, type KeptReason } from './kept.ts';

/**
 * What became of a Secret is stored with it, as annotations: a write that the API server rejects leaves no trace, a replaced
 * Secret loses them, and a moved one keeps them.
 */

/** `sha256:` of the translated value: the Secret is translated while it has this value. */
export const TRANSLATED = 'machineadm.dev/translated';
/** JSON: what a user should know about the translation. */
const TRANSLATION = 'machineadm.dev/translation';
/** `REASON: message`: why a Secret of a machine that opted in was kept as it is. */
const KEPT = 'machineadm.dev/translation-kept';
export const MARKS = [TRANSLATED, TRANSLATION, KEPT] as const;

const Mark = z.object({
  /** Of the translator. */
  version: z.string(),
  profile: z.string(),
  /** Codes of differences between the provider's user data and the document (docs/convert-codes.md). */
  codes: z.array(z.string()),
  /** What was left out, and why. */
  notes: z.array(z.string()),
});
export type Mark = z.infer<typeof Mark>;

/** The mark for a value in base64. */
export function markOf(value: string): string {
  return `sha256:${createHash('sha256').update(Buffer.from(value, 'base64')).digest('hex')}`;
}

/** The annotations of a translated Secret; without a value, those to remove. */
export function translatedMark(value: string | undefined, mark?: Mark): Readonly<Record<string, string | undefined>> {
  return {
    [TRANSLATED]: value === undefined ? undefined : markOf(value),
    [TRANSLATION]: mark === undefined ? undefined : JSON.stringify(mark),
  };
}

/** The annotation of a kept Secret; undefined = to remove. */
export function keptMark(why: string | undefined): Readonly<Record<string, string | undefined>> {
  return { [KEPT]: why };
}

/** What a Secret, as it is stored, says about itself. */
export type Stored =
  | { readonly kind: 'Translated'; readonly mark: Mark | undefined }
  | { readonly kind: 'Kept'; readonly reason: KeptReason; readonly message: string }
  | { readonly kind: 'Changed' }
  | { readonly kind: 'Unmarked' };

const LONGEST_MESSAGE = 2048;

/** Reads the marks of a stored Secret and compares them with its value. */
export function storedState({ metadata, data }: SecretObject): Stored {
  const { [TRANSLATED]: digest, [TRANSLATION]: text, [KEPT]: why } = metadata.annotations ?? {};
  if (digest !== undefined) {
    if (digest !== markOf(data?.value ?? '')) return { kind: 'Changed' };
    return { kind: 'Translated', mark: parsedMark(text) };
  }
  const [, reason, message] = /^([A-Za-z]+): (.*)$/s.exec(why?.slice(0, LONGEST_MESSAGE) ?? '') ?? [];
  const known = keptReason(reason);
  return known === undefined || message === undefined ? { kind: 'Unmarked' } : { kind: 'Kept', reason: known, message };
}

/** Whether the stored value is a translation. */
export function isTranslated(secret: SecretObject | undefined): boolean {
  return secret !== undefined && storedState(secret).kind === 'Translated';
}

function keptReason(text: string | undefined): KeptReason | undefined {
  return Object.keys(KEPT_REASONS).find((name): name is KeptReason => name === text);
}

function parsedMark(text: string | undefined): Mark | undefined {
  try {
    return Mark.safeParse(JSON.parse(text ?? '')).data;
  } catch {
    return undefined;
  }
}
