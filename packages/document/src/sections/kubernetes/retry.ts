import { milliseconds } from '../../fields/convert-values.ts';
import { field, object } from '../../fields/field.ts';
import { duration } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';

const DEFAULT_ATTEMPTS = 3;
const DEFAULT_BACKOFF_MS = 10_000;

/** How often one run may start the bootstrapper, and the pause in between. */
export interface RetryModel {
  /** 1 to 3, the first included. */
  readonly attempts: number;
  /** Before the second attempt; twice as long before the third. */
  readonly backoffMs: number;
}

const retryFields = object({
  attempts: field(
    z.int().min(1).max(3, 'at most 3: after that, replacing the machine is the better answer'),
    'The number of attempts, 1 to 3.',
    { default: 3, example: 1 },
  ),
  backoff: field(duration, 'The wait before the second attempt. It doubles before the third.', {
    default: '10s',
    example: '30s',
  }),
});

export function toRetry(section: z.infer<typeof retryFields> | undefined): RetryModel {
  return {
    attempts: section?.attempts ?? DEFAULT_ATTEMPTS,
    backoffMs: milliseconds(section?.backoff) ?? DEFAULT_BACKOFF_MS,
  };
}

/** `retry` of a bootstrapper. */
export const retry = field(
  retryFields,
  'How often the bootstrapper is tried if the cause of a failure may be temporary.',
  {
    absent: '3 attempts',
    example: { attempts: 2 },
  },
);
