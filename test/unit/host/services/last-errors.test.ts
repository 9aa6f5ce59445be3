import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { lastErrors } from '../../../../src/host/services/last-errors.ts';

/** What containerd 2.1.9 prints when it starts, of which it logs eighty such lines. */
const LOADING =
  'time="2026-11-28T08:01:35.947057558Z" level=info msg="loading plugin" id=io.containerd.grpc.v1.cri type=io.containerd.grpc.v1';
const CNI =
  'time="2026-11-28T08:01:36.603455912Z" level=error msg="failed to load cni during init" error="cni config load failed"';
const LAST = 'containerd: required plugin [io.containerd.nope.v1.x] not included';
const start = [...Array<string>(80).fill(LOADING), CNI, LAST];

describe('the lines that a service ended with', () => {
  test('are its errors, where it was started again since', () => {
    const log = [...start, ...start, ...Array<string>(60).fill(LOADING)];
    assert.deepEqual(lastErrors(log, 20), [CNI, LAST]);
  });

  test('are no notices of klog and zap', () => {
    const errors = [
      'E1128 01:04:42.966583     254 run.go:72] "command failed" err="unknown flag: --x"',
      'W1128 01:04:42.966583     254 feature_gate.go:240] Setting deprecated feature gate',
      '{"level":"fatal","ts":"2026-11-22T15:34:58.046Z","msg":"discovery failed"}',
    ];
    const notices = [
      'I1128 01:04:42.966583     254 server.go:1] "Starting"',
      '{"level":"info","ts":"2026-11-22T15:34:58.046Z","msg":"Starting etcd"}',
    ];
    assert.deepEqual(lastErrors([...notices, ...errors, ...notices], 20), errors);
  });

  test('are the last lines of a log that has only notices, or no marks at all', () => {
    assert.deepEqual(lastErrors([LOADING, LOADING], 1), [LOADING]);
    assert.deepEqual(lastErrors(['one', 'two', 'three'], 2), ['two', 'three']);
    assert.deepEqual(lastErrors([], 5), []);
  });
});
