import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { createHttpClient } from '../../../src/host/http/client.ts';
import { tryInOrder } from '../../../src/trust/attempts.ts';
import { refusal } from '../../../src/trust/refusals.ts';
import { type Source, sourceAt, unavailable } from '../../../src/trust/source.ts';
import { fakeClock } from '../../support/fake-clock.ts';

const source = (name: string): Source => ({ name, path: name, async *open() {} });
const [first, second] = [source('first'), source('second')];
const soon = { deadlineMs: 200, random: () => 0.01 };

describe('locations', () => {
  test('are tried in their order, and again where a retry may help', async () => {
    const asked: string[] = [];
    const got = await tryInOrder(
      [first, second],
      async ({ name }) => {
        asked.push(name);
        if (asked.length < 4) throw unavailable(name, 'busy', true);
        return name;
      },
      soon,
    );
    assert.deepEqual([got, asked], ['second', ['first', 'second', 'first', 'second']]);
  });

  test('that served bad data are not tried again, and that outweighs a timeout', async () => {
    const asked: string[] = [];
    const attempt = async ({ name }: Source): Promise<never> => {
      asked.push(name);
      throw name === 'first' ? refusal('DigestMismatch', 'not the file') : unavailable(name, 'busy', true);
    };
    await assert.rejects(tryInOrder([first, second], attempt, soon), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.deepEqual(
        [error.reason, error.evidence.map((line) => line.source)],
        ['DigestMismatch', ['first', 'second']],
      );
      return true;
    });
    assert.deepEqual(
      asked.filter((name) => name === 'first'),
      ['first'],
    );
    assert.ok(asked.length > 2);
  });

  test('that cannot help end the attempts at once', async () => {
    using clock = fakeClock();
    const attempt = async ({ name }: Source): Promise<never> => {
      throw unavailable(name, 'there is no such file', false);
    };
    const asking = tryInOrder([first], attempt, { deadlineMs: 60_000 });
    await clock.until(assert.rejects(asking, { reason: 'ReleaseUnavailable' }));
    assert.deepEqual(clock.pauses, []);
  });

  test('are not blamed for what this machine cannot do', async () => {
    const full = new MachineadmError({ reason: 'DiskFull', summary: 'full', remedy: 'free space' });
    const attempt = async (): Promise<never> => {
      throw full;
    };
    await assert.rejects(tryInOrder([first, second], attempt, soon), full);
  });

  for (const [location, words] of [
    ['https://user:word@mirror.example.com', /credentials/],
    ['https://mirror.example.com/?a=b', /query/],
    ['s3://bucket/release', /neither http/],
  ] as const) {
    test(`like ${location} are refused, and no word of a credential is shown`, () => {
      const client = createHttpClient({ proxy: undefined, certificateAuthorities: [] });
      assert.throws(
        () => sourceAt(location, client, undefined),
        (error) => {
          assert.ok(error instanceof MachineadmError);
          assert.equal(error.reason, 'DownloadInvalid');
          assert.match(error.message, words);
          assert.ok(!error.message.includes('user:word'));
          return true;
        },
      );
    });
  }

  test('are given a credential over https only', () => {
    const client = createHttpClient({ proxy: undefined, certificateAuthorities: [] });
    for (const location of ['http://mirror.example.com', '/srv/release']) {
      assert.throws(() => sourceAt(location, client, new Secret('Bearer word-of-a-test')), {
        reason: 'DownloadInvalid',
      });
    }
  });
});
