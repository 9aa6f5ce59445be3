import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { untilSignal } from '../../../src/cli/until-signal.ts';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
const listeners = () => SIGNALS.map((signal) => process.listenerCount(signal));

describe('work that a signal ends', () => {
  // The test runner ends its process at these signals, with status 0 and without a result.
  const ofRunner = SIGNALS.map((name) => [name, process.listeners(name)] as const);
  before(() => {
    for (const name of SIGNALS) process.removeAllListeners(name);
  });
  after(() => {
    for (const [name, all] of ofRunner) for (const listener of all) process.on(name, listener);
  });

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
