import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CriError } from '../../../../src/host/cri/call.ts';

/** The codes of gRPC (https://grpc.io/docs/guides/status-codes/). */
const TABLE = [
  { code: 4, name: 'DEADLINE_EXCEEDED', message: 'no answer', reason: 'ContainerdUnhealthy', retryable: true },
  { code: 14, name: 'UNAVAILABLE', message: 'nobody listens', reason: 'ContainerdUnhealthy', retryable: true },
  { code: 5, name: 'NOT_FOUND', message: 'no such pod', reason: 'ContainerdUnhealthy', retryable: false },
  { code: 12, name: 'UNIMPLEMENTED', message: 'unknown method x', reason: 'ContainerdUnhealthy', retryable: false },
  { code: 12, name: 'UNIMPLEMENTED', message: 'unknown service x', reason: 'CRIv1Unimplemented', retryable: false },
  { code: 2, name: 'UNKNOWN', message: 'unknown service x', reason: 'ContainerdUnhealthy', retryable: false },
] as const;

describe('a CRI call that did not succeed', () => {
  for (const { code, name, message, reason, retryable } of TABLE) {
    test(`with ${name} (${message}) is ${reason}, ${retryable ? 'retried' : 'permanent'}`, () => {
      const error = new CriError('/run/c.sock', 'Version', code, message);
      assert.deepEqual([error.reason, error.retryable, error.exit], [reason, retryable, 'HostStepFailed']);
      assert.match(error.message, /at \/run\/c\.sock did not answer the CRI call Version: /);
      assert.deepEqual(error.evidence, [{ source: 'CRI Version', text: message }]);
    });
  }
});
