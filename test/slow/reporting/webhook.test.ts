import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { beforeEach, describe, test } from 'node:test';
import { newAuthority } from '../../support/api-server.ts';
import { describeFaults, type Faulty, makeKnown, silenceResolver } from '../../support/faults-at-once.ts';
import { FAULTS, type Fault, startFaultyFront } from '../../support/faulty-front.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import {
  assertUndisturbed,
  delivered,
  flushed,
  freshMachine,
  provisionWith,
  reported,
  shell,
  waiting,
} from '../../support/sink-faults.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { startWebhookReceiver, WEBHOOK_SECRET, type WebhookReceiver } from '../../support/webhook-receiver.ts';

/** For a sink that will not take its events: the wait for it is not what is tested. */
const SHORT = '1s';

const ids = ({ taken }: WebhookReceiver) => taken.map(({ id }) => id);

inThrowAwayMachine(import.meta.filename, () => {
  beforeEach(freshMachine);

  const hook = (url: string, more: object = {}) => ({
    type: 'Webhook',
    url,
    secret: WEBHOOK_SECRET,
    // Long enough for a busy machine: an answer that comes too late is an event that comes twice.
    timeout: '20s',
    ...more,
  });

  describe('a webhook', () => {
    test('receives the start and the end of a run, signed, without delaying it', async () => {
      await using receiver = await startWebhookReceiver();
      const provisioned = await provisionWith([hook(receiver.url)]);
      assertUndisturbed(provisioned);
      const report = await delivered('Webhook');
      assert.deepEqual([report.state, report.pending, report.target], ['Delivered', 0, receiver.url]);
      assert.deepEqual(
        receiver.taken.map(({ type }) => type),
        ['dev.machineadm.bootstrap.started', 'dev.machineadm.bootstrap.concluded'],
      );
      assert.deepEqual(receiver.refusals, []);
      const { data } = receiver.taken[1] ?? assert.fail();
      const { status } = provisioned;
      assert.deepEqual(
        [data.runId, data.outcome, data.exitCode, data.machine],
        [status.runId, 'Succeeded', 0, { name: 'reported', namespace: 'clusters' }],
      );
      assert.ok(Array.isArray(data.timeline) && data.timeline.length > 0);
    });

    test('leaves no files behind: no event, no plan, no secret', async () => {
      await using receiver = await startWebhookReceiver();
      await provisionWith([hook(receiver.url)]);
      await reported('Webhook');
      await flushed();
      assert.deepEqual(waiting(), {});
      // The process that delivers removes its own last, after its report.
      for (const path of ['/var/lib/machineadm/spool', '/run/machineadm/reporting'])
        await waitUntil(() => !existsSync(path) || readdirSync(path).length === 0, `nothing in ${path}`);
    });

    test('gets no secret of the document, not even its own', async () => {
      await using receiver = await startWebhookReceiver();
      const secrets = { token: { value: 'a seeded token 4711' }, auth: { value: 'Bearer very-secret-0815' } };
      const command = 'echo "it is a seeded token 4711" >&2; exit 3';
      await provisionWith(
        [
          hook(receiver.url, {
            allowInsecure: true,
            headers: { Authorization: { secret: 'auth' } },
            events: ['started', 'stepChanged', 'warning', 'concluded'],
          }),
        ],
        { secrets, host: { hooks: { early: { onError: 'Continue', commands: [command] } } } },
      );
      await reported('Webhook');
      assert.ok(receiver.taken.length >= 4, `${receiver.taken.length} events`);
      const bodies = receiver.heard.filter((_, index) => index % 2 === 1).join('\n');
      for (const secret of [secrets.token.value, WEBHOOK_SECRET, 'very-secret-0815'])
        assert.ok(!bodies.includes(secret), secret);
    });

    test('that is unreachable: its secret waits in memory for root alone, never in the spool', async () => {
      await provisionWith([hook('http://127.0.0.1:9/hook')], { deadline: SHORT });
      await reported('Webhook');
      const spool = '/var/lib/machineadm/spool';
      assert.equal(statSync(spool).mode & 0o777, 0o700);
      for (const name of readdirSync(spool)) {
        assert.equal(statSync(`${spool}/${name}`).mode & 0o777, 0o600, name);
        assert.ok(!readFileSync(`${spool}/${name}`, 'utf8').includes(WEBHOOK_SECRET), name);
      }
      const [carried = ''] = readdirSync('/run/machineadm/reporting');
      assert.equal(statSync('/run/machineadm/reporting').mode & 0o777, 0o700);
      assert.equal(statSync(`/run/machineadm/reporting/${carried}`).mode & 0o777, 0o600);
      assert.equal(readFileSync(`/run/machineadm/reporting/${carried}`, 'utf8'), `${WEBHOOK_SECRET}\n`);
    });

    test('that was unreachable before a reboot: a flush with the document delivers what was in memory', async () => {
      await using receiver = await startWebhookReceiver();
      await using front = await startFaultyFront(receiver.port);
      await front.fail('refuses');
      await provisionWith([hook(`http://127.0.0.1:${front.port}/hook`)], { deadline: SHORT });
      await reported('Webhook');
      shell('rm -rf /run/machineadm/reporting');
      await front.fail(undefined);
      const without = await flushed('--within', SHORT);
      assert.equal(without.status, 20);
      assert.match(without.stdout, /the secret .* cannot be read/);
      const withDocument = await flushed('-d', '/tmp/reported.yaml');
      assert.equal(withDocument.status, 0, withDocument.stdout + withDocument.stderr);
      assert.equal(receiver.taken.length, 2);
    });

    test('whose failure is reported through the other sinks, once', async () => {
      await using receiver = await startWebhookReceiver();
      await provisionWith([hook('http://127.0.0.1:9/hook'), hook(receiver.url, { name: 'good' })], { deadline: '5s' });
      assert.equal((await reported('good')).state, 'Delivered');
      const told = () => receiver.taken.filter(({ type }) => type === 'dev.machineadm.bootstrap.warning');
      assert.equal(told().length, 1);
      assert.match(
        `${told()[0]?.data.message}`,
        /sink Webhook \(http:\/\/127\.0\.0\.1:9\/hook\) did not accept (one event|2 events)/,
      );
      await flushed('--within', SHORT);
      assert.equal(told().length, 1);
    });
  });

  const nameOf = (fault: string) => fault.replaceAll(' ', '-');

  async function broken(fault: Fault, stack: AsyncDisposableStack): Promise<Faulty> {
    const receiver = stack.use(await startWebhookReceiver());
    const front = stack.use(await startFaultyFront(receiver.port));
    await front.fail(fault);
    const sink = hook(`http://127.0.0.1:${front.port}/hook`);
    return {
      sinks: [{ name: nameOf(fault), sink, taken: () => ids(receiver) }],
      repair: () => front.fail(undefined),
    };
  }

  describeFaults('a webhook that fails costs a run nothing, and has everything in the end, when it', {
    ...Object.fromEntries(FAULTS.map((fault) => [fault, (stack: AsyncDisposableStack) => broken(fault, stack)])),

    async 'has a name that no resolver answers for'(stack) {
      const receiver = stack.use(await startWebhookReceiver());
      await silenceResolver(stack);
      const sink = hook(`http://receiver.example:${receiver.port}/hook`);
      return {
        sinks: [{ name: 'unresolved', sink, taken: () => ids(receiver) }],
        repair: () => makeKnown('receiver.example'),
      };
    },

    async 'has a certificate that nobody trusts'(stack) {
      const [trusted, other] = [newAuthority('trusted'), newAuthority('other')];
      const receiver = stack.use(await startWebhookReceiver());
      const wrong = await startFaultyFront(receiver.port, other.issue('receiver', ['127.0.0.1']));
      const sink = hook(`https://127.0.0.1:${wrong.port}/hook`, { certificateAuthority: trusted.certificate });
      return {
        sinks: [{ name: 'untrusted', sink, taken: () => ids(receiver) }],
        before: () => assert.equal(wrong.requests, 0, 'no event was shown to it'),
        async repair() {
          await wrong[Symbol.asyncDispose]();
          const identity = trusted.issue('receiver', ['127.0.0.1']);
          stack.use(await startFaultyFront(receiver.port, identity, wrong.port));
        },
      };
    },
  });

  describeFaults(
    'a webhook that fails, on a machine whose disk is full, costs a run nothing, and has everything in the end, when it',
    { refuses: (stack) => broken('refuses', stack) },
    { fullDisk: true },
  );
});
