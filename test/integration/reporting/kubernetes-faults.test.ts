import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Authority, kubeconfig, newAuthority } from '../../support/api-server.ts';
import { type ConfigMapReceiver, REPORT_TOKEN, startConfigMapReceiver } from '../../support/config-map-receiver.ts';
import { FAULTS, startFaultyFront } from '../../support/faulty-front.ts';
import { startServer } from '../../support/http-servers.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import {
  assertSurvives,
  assertUndisturbed,
  freshMachine,
  provisionWith,
  reported,
  shell,
} from '../../support/sink-faults.ts';

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
    timeout: '4s',
    ...more,
  });
  const survives = (receiver: ConfigMapReceiver, sink: object, repair: () => Promise<void> | void) =>
    assertSurvives({ name: 'Kubernetes', sink, taken: () => receiver.taken, repair });

  describe('a management cluster', () => {
    test('is told of the beginning and the end of a run, while nobody waits for it, and of no secret', async () => {
      await using receiver = await startConfigMapReceiver(PATH);
      await using front = await startFaultyFront(receiver.port, identity);
      const secrets = { token: { value: 'a seeded token 0815' } };
      const command = 'echo "it is a seeded token 0815" >&2; exit 3';
      const provisioned = await provisionWith([sinkTo(`https://127.0.0.1:${front.port}`)], {
        secrets,
        host: { hooks: { early: { onError: 'Continue', commands: [command] } } },
      });
      assertUndisturbed(provisioned);
      const report = await reported('Kubernetes');
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
    test('is told of the end, though that came while the deliverer of the beginning waited for the other', async () => {
      await using receiver = await startConfigMapReceiver(PATH);
      await using front = await startFaultyFront(receiver.port, identity);
      await using hanging = await startFaultyFront(receiver.port, identity);
      await hanging.fail('never answers');
      const other = sinkTo(`https://127.0.0.1:${hanging.port}`, authority, { name: 'hanging' });
      const provisioned = await provisionWith([sinkTo(`https://127.0.0.1:${front.port}`), other], {
        // Long enough for the deliverer to have begun, and to have told this one of the beginning.
        host: { hooks: { early: { commands: ['sleep 4'] } } },
        deadline: '8s',
      });
      assertUndisturbed(provisioned);
      for (const end = Date.now() + 30_000; receiver.taken.length < 2; await sleep(100)) {
        assert.ok(Date.now() < end, `only ${receiver.taken.length} events came`);
      }
      assert.match(receiver.taken[1] ?? '', new RegExp(`^${provisioned.status.runId}`));
      assert.equal(JSON.parse(receiver.bodies[1] ?? '').data.outcome, 'Succeeded');
    });
  });

  describe('a management cluster that fails costs a run nothing, and has everything in the end, when it', () => {
    for (const fault of FAULTS) {
      test(fault, async () => {
        await using receiver = await startConfigMapReceiver(PATH);
        await using front = await startFaultyFront(receiver.port, identity);
        await front.fail(fault);
        await survives(receiver, sinkTo(`https://127.0.0.1:${front.port}`), () => front.fail(undefined));
      });
    }

    test('has a name that no resolver answers for', async () => {
      await using receiver = await startConfigMapReceiver(PATH);
      await using front = await startFaultyFront(receiver.port, authority.issue('receiver.example'));
      const resolver = createSocket('udp4');
      resolver.bind(53, '127.0.0.1');
      await once(resolver, 'listening');
      try {
        writeFileSync('/etc/resolv.conf', 'nameserver 127.0.0.1\n');
        const repair = () => void shell('echo "127.0.0.1 receiver.example" >>/etc/hosts');
        await survives(receiver, sinkTo(`https://receiver.example:${front.port}`), repair);
      } finally {
        resolver.close();
      }
    });

    test('is another one, which its authority did not sign', async () => {
      await using receiver = await startConfigMapReceiver(PATH);
      const stranger = newAuthority('another').issue('kube-apiserver', ['127.0.0.1']);
      const wrong = await startFaultyFront(receiver.port, stranger);
      let right: AsyncDisposable | undefined;
      await survives(receiver, sinkTo(`https://127.0.0.1:${wrong.port}`), async () => {
        assert.equal(wrong.requests, 0, 'no token was shown to it');
        await wrong[Symbol.asyncDispose]();
        right = await startFaultyFront(receiver.port, identity, wrong.port);
      });
      await right?.[Symbol.asyncDispose]();
    });

    test('does not let this machine report, until somebody repairs its rights', async () => {
      await using elsewhere = await startConfigMapReceiver('/api/v1/namespaces/clusters/configmaps/another');
      const refusing = await startFaultyFront(elsewhere.port, identity);
      await using receiver = await startConfigMapReceiver(PATH);
      let right: AsyncDisposable | undefined;
      await survives(receiver, sinkTo(`https://127.0.0.1:${refusing.port}`), async () => {
        await refusing[Symbol.asyncDispose]();
        right = await startFaultyFront(receiver.port, identity, refusing.port);
      });
      await right?.[Symbol.asyncDispose]();
    });

    test('is not there, and the disk is full', async () => {
      const spool = '/var/lib/machineadm/spool';
      shell(`mkdir -p ${spool}; mount -t tmpfs -o size=16k,mode=700 none ${spool}`);
      try {
        shell(`dd if=/dev/zero of=${spool}/full bs=1k 2>/dev/null || true`);
        await using receiver = await startConfigMapReceiver(PATH);
        await using front = await startFaultyFront(receiver.port, identity);
        await front.fail('refuses');
        await survives(receiver, sinkTo(`https://127.0.0.1:${front.port}`), () => front.fail(undefined));
        assert.deepEqual(readdirSync(spool), ['full']);
      } finally {
        shell(`umount -l ${spool}`);
      }
    });
  });

  describe('the own Node', () => {
    test('is told as soon as this machine has joined its cluster', async () => {
      const taken: string[] = [];
      await using server = await startServer((_, body) => {
        taken.push(JSON.parse(JSON.parse(body).metadata.annotations['machineadm.dev/report']).id);
        return { body: '{}' };
      }, identity);
      await assertSurvives({
        name: 'Node',
        sink: { type: 'Node', timeout: '1s' },
        taken: () => taken,
        repair() {
          const kubelet = authority.issue('system:node:reported');
          mkdirSync('/etc/kubernetes', { recursive: true });
          writeFileSync('/etc/kubernetes/kubelet.conf', kubeconfig(server.url, authority.certificate, kubelet));
        },
      });
      assert.deepEqual(server.requests, ['PATCH /api/v1/nodes/reported/status?fieldManager=machineadm&force=true']);
    });
  });
});
