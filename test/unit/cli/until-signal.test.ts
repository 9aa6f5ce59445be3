import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { untilSignal } from '../../../src/cli/until-signal.ts';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
const listeners = () => SIGNALS.map((signal) => process.listenerCount(signal));

describe('work that a signal ends', () => {
  for (const name of SIGNALS) {
    test(`is aborted by ${name}, for the reason of that signal`, async () => {
      const before = listeners();
      const seen = await untilSignal(
        async (signal) => {
          assert.equal(signal.aborted, false);
          process.emit(name, name);
          return [signal.aborted, String(signal.reason)];
        },
        (signal) => new Error(`ended by ${signal}`),
      );
      assert.deepEqual(seen, [true, `Error: ended by ${name}`]);
      assert.deepEqual(listeners(), before);
    });
  }

  test('leaves no listener where it fails', async () => {
    const before = listeners();
    await assert.rejects(
      untilSignal(() => Promise.reject(new Error('it broke'))),
      /it broke/,
    );
    assert.deepEqual(listeners(), before);
  });
});
