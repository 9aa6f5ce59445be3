import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, test } from 'node:test';
import { type Authority, kubeconfig, newAuthority } from '../../support/api-server.ts';
import { type ConfigMapReceiver, REPORT_TOKEN, startConfigMapReceiver } from '../../support/config-map-receiver.ts';
import {
  describeFaults,
  type Faulty,
  type FaultySink,
  makeKnown,
  silenceResolver,
} from '../../support/faults-at-once.ts';
import { FAULTS, type Fault, type FaultyFront, startFaultyFront } from '../../support/faulty-front.ts';
import { startServer } from '../../support/http-servers.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { assertUndisturbed, delivered, freshMachine, provisionWith } from '../../support/sink-faults.ts';
import { waitUntil } from '../../support/wait-until.ts';

const PATH = '/api/v1/namespaces/clusters/configmaps/machineadm-report-reported';
const authority = newAuthority('management');
const identity = authority.issue('kube-apiserver', ['127.0.0.1']);

inThrowAwayMachine(import.meta.filename, () => {
  beforeEach(freshMachine);

  const sinkTo = (server: string, trusted: Authority = authority, more: object = {}) => ({
    type: 'Kubernetes',
    server,
    certificateAuthority: trusted.certificate,
    token: REPORT_TOKEN,
    configMap: { namespace: 'clusters', name: 'machineadm-report-reported' },
    // Long enough for a busy machine: an answer that comes too late is an event that comes twice.
    timeout: '20s',
    ...more,
  });

  describe('a management cluster', () => {
    test('receives the start and the end of a run, without delaying it and without any secret', async () => {
      await using receiver = await startConfigMapReceiver(PATH);
      await using front = await startFaultyFront(receiver.port, identity);
      const secrets = { token: { value: 'a seeded token 0815' } };
      const command = 'echo "it is a seeded token 0815" >&2; exit 3';
      const provisioned = await provisionWith([sinkTo(`https://127.0.0.1:${front.port}`)], {
        secrets,
        host: { hooks: { early: { onError: 'Continue', commands: [command] } } },
      });
      assertUndisturbed(provisioned);
      const report = await delivered('Kubernetes');
      const { state, pending, target } = report;
      assert.deepEqual([state, pending, target], ['Delivered', 0, 'ConfigMap clusters/machineadm-report-reported']);
      assert.equal(receiver.taken.length, 2);
      const [first, last] = receiver.bodies.map((body) => JSON.parse(body).data);
      assert.equal(first.outcome, 'Running');
      assert.equal(last.outcome, 'Succeeded');
      assert.equal(JSON.parse(last['conditions.json'])[0].status, 'True');
      for (const secret of [REPORT_TOKEN, secrets.token.value]) {
        assert.ok(!receiver.bodies.join('\n').includes(secret), secret);
      }
    });
  });

  describe('a management cluster beside a sink that hangs', () => {
    test('receives the end, even if it came while the deliverer of the start waited for the other sink', async () => {
      await using receiver = await startConfigMapReceiver(PATH);
      await using front = await startFaultyFront(receiver.port, identity);
      await using hanging = await startFaultyFront(receiver.port, identity);
      await hanging.fail('never answers');
      const other = sinkTo(`https://127.0.0.1:${hanging.port}`, authority, { name: 'hanging' });
      // Until the deliverer has told this one of the beginning.
      const begun = '/tmp/begun';
      const running = provisionWith([sinkTo(`https://127.0.0.1:${front.port}`), other], {
        host: { hooks: { early: { commands: [`until [ -e ${begun} ]; do sleep 0.1; done`] } } },
        deadline: '3s',
      });
      await tookEvents(receiver, 1);
      writeFileSync(begun, '');
      const provisioned = await running;
      assertUndisturbed(provisioned);
      await tookEvents(receiver, 2);
      assert.match(receiver.taken[1] ?? '', new RegExp(`^${provisioned.status.runId}`));
      assert.equal(JSON.parse(receiver.bodies[1] ?? '').data.outcome, 'Succeeded');
    });
  });

  const wired = (name: string, receiver: ConfigMapReceiver, sink: object): FaultySink => ({
    name,
    sink,
    taken: () => receiver.taken,
  });

  async function broken(fault: Fault, stack: AsyncDisposableStack): Promise<Faulty> {
    const receiver = stack.use(await startConfigMapReceiver(PATH));
    const front = stack.use(await startFaultyFront(receiver.port, identity));
    await front.fail(fault);
    return {
      sinks: [wired(fault.replaceAll(' ', '-'), receiver, sinkTo(`https://127.0.0.1:${front.port}`))],
      repair: () => front.fail(undefined),
    };
  }

  describeFaults('a management cluster that fails costs a run nothing, and has everything in the end, when it', {
    ...Object.fromEntries(FAULTS.map((fault) => [fault, (stack: AsyncDisposableStack) => broken(fault, stack)])),

    async 'has a name that no resolver answers for'(stack) {
      const receiver = stack.use(await startConfigMapReceiver(PATH));
      const front = stack.use(await startFaultyFront(receiver.port, authority.issue('receiver.example')));
      await silenceResolver(stack);
      return {
        sinks: [wired('unresolved', receiver, sinkTo(`https://receiver.example:${front.port}`))],
        repair: () => makeKnown('receiver.example'),
      };
    },

    async 'is another one, which its authority did not sign'(stack) {
      const receiver = stack.use(await startConfigMapReceiver(PATH));
      const stranger = newAuthority('another').issue('kube-apiserver', ['127.0.0.1']);
      const wrong = await startFaultyFront(receiver.port, stranger);
      return {
        sinks: [wired('stranger', receiver, sinkTo(`https://127.0.0.1:${wrong.port}`))],
        before: () => assert.equal(wrong.requests, 0, 'no token was shown to it'),
        repair: () => replace(wrong, receiver, stack),
      };
    },

    async 'does not let this machine report, until somebody repairs its rights'(stack) {
      const elsewhere = stack.use(await startConfigMapReceiver('/api/v1/namespaces/clusters/configmaps/another'));
      const refusing = await startFaultyFront(elsewhere.port, identity);
      const receiver = stack.use(await startConfigMapReceiver(PATH));
      return {
        sinks: [wired('forbidden', receiver, sinkTo(`https://127.0.0.1:${refusing.port}`))],
        repair: () => replace(refusing, receiver, stack),
      };
    },

    async 'is the one that this machine has yet to join, for its own Node'(stack) {
      const taken: string[] = [];
      const server = stack.use(
        await startServer((_, body) => {
          taken.push(JSON.parse(JSON.parse(body).metadata.annotations['machineadm.dev/report']).id);
          return { body: '{}' };
        }, identity),
      );
      return {
        sinks: [{ name: 'Node', sink: { type: 'Node', timeout: '20s' }, taken: () => taken }],
        repair() {
          const kubelet = authority.issue('system:node:reported');
          mkdirSync('/etc/kubernetes', { recursive: true });
          writeFileSync('/etc/kubernetes/kubelet.conf', kubeconfig(server.url, authority.certificate, kubelet));
        },
        after() {
          assert.deepEqual(server.requests, ['PATCH /api/v1/nodes/reported/status?fieldManager=machineadm&force=true']);
        },
      };
    },
  });

  describeFaults(
    'a management cluster that fails, on a machine whose disk is full, has everything in the end, when it',
    { refuses: (stack) => broken('refuses', stack) },
    { fullDisk: true },
  );
});

async function tookEvents({ taken }: ConfigMapReceiver, count: number): Promise<void> {
  await waitUntil(() => taken.length >= count, `${count} events come`);
}

/** Another server in the place of one that is wrong. */
async function replace(wrong: FaultyFront, { port }: ConfigMapReceiver, stack: AsyncDisposableStack): Promise<void> {
  await wrong[Symbol.asyncDispose]();
  stack.use(await startFaultyFront(port, identity, wrong.port));
}
