import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { TimedOut, withTimeout } from '../../../../src/host/time/timeout.ts';

const never = (): Promise<never> => new Promise(() => {});

describe('work under a deadline', () => {
  test('returns its result', async () => assert.equal(await withTimeout(1000, async () => 7), 7));

  test('is abandoned, with a timeout error, when it takes too long', async () => {
    let told: unknown;
    const work = (signal: AbortSignal) => {
      signal.addEventListener('abort', () => {
        told = signal.reason;
      });
      return never();
    };
    await assert.rejects(withTimeout(20, work), TimedOut);
    assert.ok(told instanceof TimedOut);
  });

  test('keeps a result that came in time to a process without processor time', async () => {
    // The file is looked at on another thread, long before the timer can fire.
    let given: AbortSignal | undefined;
    const work = async (signal: AbortSignal) => {
      given = signal;
      const found = stat(import.meta.filename);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
      return (await found).isFile();
    };
    assert.equal(await withTimeout(100, work), true);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(given?.aborted, false, 'what uses the signal afterwards continues');
  });

  test('is abandoned when its caller is aborted', async () => {
    const controller = new AbortController();
    const waiting = withTimeout(60_000, never, controller.signal);
    controller.abort(new Error('enough'));
    await assert.rejects(waiting, /enough/);
  });

  test('may throw at once', async () => {
    const work = (): Promise<void> => {
      throw new Error('broken');
    };
    await assert.rejects(withTimeout(1000, work), /broken/);
  });

  test('may reject after it was abandoned, without an effect', async () => {
    const late = Promise.withResolvers<void>();
    await assert.rejects(
      withTimeout(5, () => late.promise),
      TimedOut,
    );
    late.reject(new Error('too late'));
    await new Promise((resolve) => setImmediate(resolve));
  });
});
