import type { Answer } from '../../host/cluster/api-server.ts';
import { type DeliveryResult, retryAfter } from './remote-sink.ts';

/** The meaning of an API server's answer to a patch for a delivery. */
export function applyResult(answer: Answer<unknown>, hints: Readonly<Record<number, string>> = {}): DeliveryResult {
  switch (answer.kind) {
    case 'found':
      return { kind: 'delivered' };
    case 'absent':
      return { kind: 'retry', why: 'it does not exist' };
    case 'unreachable':
    case 'untrusted':
      return { kind: 'retry', why: answer.why };
    case 'refused': {
      const { status, why, retryAfterMs } = answer;
      // 400, 413, 415, 422: the object is wrong. For every other answer a retry may succeed later.
      if ([400, 413, 415, 422].includes(status)) return { kind: 'refused', why };
      const hint = hints[status];
      return {
        kind: 'retry',
        why: hint === undefined ? why : `${why} (${hint})`,
        ...retryAfter(status, retryAfterMs),
      };
    }
  }
}
