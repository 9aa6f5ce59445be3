import { milliseconds } from '../fields/convert-values.ts';
import { field, object } from '../fields/field.ts';
import { duration } from '../fields/types.ts';
import * as z from '../schema/zod.ts';

const DEFAULT_DELAY_MS = 10_000;

/** `retry` of a group of hooks. */
export interface HookRetry {
  /** Of each entry, the first included. */
  readonly attempts: number;
  /** Before the second attempt. */
  readonly delayMs: number;
  /** The factor by which each further pause is longer than the one before. */
  readonly backoff: number;
  /** Exit statuses; absent: any failure. */
  readonly on?: readonly number[];
}

export const retry = field(
  object({
    attempts: field(
      z.int().min(2, 'at least 2: the first attempt counts').max(100, 'at most 100'),
      'How often an entry may run, the first time included: 2 to 100.',
      { example: 5 },
    ),
    delay: field(duration, 'The pause before the second attempt.', { default: '10s', example: '30s' }),
    backoff: field(
      z.int().min(1, 'at least 1, which keeps the pause as it is').max(10, 'at most 10'),
      'The factor by which each further pause is longer than the one before it: 1 to 10.',
      { default: 1, example: 2 },
    ),
    on: field(
      z
        .array(z.int().min(1, 'a status from 1 to 255: 0 is no failure').max(255, 'a status from 1 to 255'))
        .min(1, 'a list without an exit status'),
      'The exit statuses after which an entry runs again: apt ends with 100 if another process holds its lock.',
      { absent: 'all but 0', example: [100] },
    ),
  }),
  'When an entry that fails runs again in the same run, in the shell as it was before the entry: for locks of package managers, downloads, and a network that is not up yet. The timeout of the group includes all attempts and pauses. Only with onError Fail.',
  { absent: 'an entry that fails ends the group', example: { attempts: 5, delay: '10s', on: [100] } },
);

/** As it is in the model. */
export function toRetry({ attempts, delay, backoff, on }: NonNullable<z.infer<typeof retry.schema>>): HookRetry {
  return {
    attempts,
    delayMs: milliseconds(delay) ?? DEFAULT_DELAY_MS,
    backoff: backoff ?? 1,
    ...(on === undefined ? {} : { on }),
  };
}
